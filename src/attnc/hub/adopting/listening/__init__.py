"""The user's module: made, called, and listened to while it runs."""

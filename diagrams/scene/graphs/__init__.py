"""What is read off graphs before steps are made of them."""

"""The statements of generated code, alike in both backends."""

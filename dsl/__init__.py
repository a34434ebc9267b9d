"""The language: text to syntax tree (`parse`), mistakes as data (`diagnostic`) and as text (`render`)."""

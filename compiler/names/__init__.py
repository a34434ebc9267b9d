"""Names of files: what each declares and what `use` brings in, before any expression is typed (D13)."""

"""What scans that are linear in their states become, in each library."""

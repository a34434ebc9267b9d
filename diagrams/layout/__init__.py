"""Where everything lies: columns, lanes, rows."""

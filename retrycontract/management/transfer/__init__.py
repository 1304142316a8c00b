"""Move all data between databases: one JSON object a line, in an order in which every row can be inserted."""

"""The sheet: every glyph, wire and label of a figure; and its public face."""

"""The API (`draw`, `Diagram`) and the sheet, on which every glyph, wire and label of a figure is drawn."""

"""An embedded Oxigraph store."""

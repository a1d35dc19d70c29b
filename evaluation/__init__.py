"""How well questions over a folder are answered; uses the public face of the package only."""

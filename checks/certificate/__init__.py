"""What a reader of a certificate needs, apart from the portal: one file that verifies it offline."""

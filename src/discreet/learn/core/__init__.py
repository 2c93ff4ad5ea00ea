"""What every fit shares: its account, rows as integers, declared bounds."""

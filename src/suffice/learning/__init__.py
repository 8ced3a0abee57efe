"""What is learned of each option, and which option is proposed at a price. Whatever goes wrong here costs money only."""

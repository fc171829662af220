"""What only makes XLA quick, imports lazy, files safe and objects look well in notebooks. Private:
nothing here is about models."""

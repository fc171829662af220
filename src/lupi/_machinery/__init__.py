"""What only makes XLA quick, imports lazy and files safe. Private: nothing here is about models."""

"""What processes are made of. Nobody outside `lupi.models` names any of it."""

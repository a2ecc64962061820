"""labgrid's exporter, including easim's resources."""

from . import main

if __name__ == "__main__":
    main()

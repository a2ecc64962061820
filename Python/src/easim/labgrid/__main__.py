"""labgrid's exporter with easim's resources."""

from . import main

if __name__ == "__main__":
    main()

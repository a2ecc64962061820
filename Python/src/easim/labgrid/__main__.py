"""labgrid's exporter, which also knows the resources of easim."""

from . import main

if __name__ == "__main__":
    main()

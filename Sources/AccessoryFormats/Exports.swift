// Instants, hex and byte queues are part of this module's own interface.
@_exported import WireBasics

// Instants, hex and byte queues are part of this module's public interface.
@_exported import WireBasics

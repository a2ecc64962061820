// Exported because this module's public interface uses the instants, hex formatting and byte queues of WireBasics.
@_exported import WireBasics

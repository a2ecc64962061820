// This module's public interface uses the instants, hex text and byte queues of WireBasics.
@_exported import WireBasics

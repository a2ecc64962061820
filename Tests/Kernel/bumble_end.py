"""One end of Bluetooth that is not BlueZ: PyPI's bumble on a controller of its own, which passes the bytes of an RFCOMM channel
to a unix socket and back. What speaks iAP2 is an easim at that socket.

  bumble_end.py accessory SOCKET         is an accessory: visible, pairable, its service connected to SOCKET
  bumble_end.py device SOCKET ADDRESS    listens on SOCKET; for whoever connects there it dials the accessory at ADDRESS

It says "ready" when the other end may begin, and what it did on the way.
"""
import asyncio
import sys

from bumble import core, rfcomm
from bumble.device import Device, DeviceConfiguration
from bumble.hci import Address
from bumble.host import Host
from bumble.keys import MemoryKeyStore
from bumble.transport.hci_socket import open_hci_socket_transport

ACCESSORY = core.UUID("00000000-deca-fade-deca-deafdecacaff")
CHANNEL = 5


def say(text):
    print(text, flush=True)


def join(dlc, reader, writer):
    """Passes bytes both ways until the socket ends."""
    dlc.sink = writer.write
    dlc.on(dlc.EVENT_CLOSE, writer.close)

    async def send():
        while data := await reader.read(4096):
            dlc.write(data)
            await dlc.drain()
        if dlc.state == rfcomm.DLC.State.CONNECTED:
            await dlc.disconnect()
        say("the socket ended")

    return asyncio.create_task(send())


async def be_accessory(device, path):
    tasks = set()

    async def serve(dlc):
        reader, writer = await asyncio.open_unix_connection(path)
        await join(dlc, reader, writer)

    def accept(dlc):
        say("connected")
        task = asyncio.create_task(serve(dlc))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    rfcomm.Server(device).listen(accept, channel=CHANNEL)
    device.sdp_service_records = {0x10001: rfcomm.make_service_sdp_records(0x10001, CHANNEL, ACCESSORY)}
    device.inquiry_response = bytes(
        core.AdvertisingData(
            [
                (core.AdvertisingData.COMPLETE_LOCAL_NAME, b"bumble's accessory"),
                (core.AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, bytes(ACCESSORY)),
            ]
        )
    )
    await device.power_on()
    await device.set_discoverable(True)
    await device.set_connectable(True)
    say("ready")
    await asyncio.get_running_loop().create_future()


async def be_device(device, path, address):
    await device.power_on()
    connection = None

    async def dial(reader, writer):
        nonlocal connection
        if connection is None:
            there = Address(address, Address.PUBLIC_DEVICE_ADDRESS)
            connection = await device.connect(there, transport=core.PhysicalTransport.BR_EDR)
            say("connected")
            await connection.authenticate()
            say("paired")
            await connection.encrypt()
        channel = await rfcomm.find_rfcomm_channel_with_uuid(connection, ACCESSORY)
        say(f"the service is on channel {channel}")
        client = rfcomm.Client(connection)
        multiplexer = await client.start()
        dlc = await multiplexer.open_dlc(channel)
        say("opened")
        await join(dlc, reader, writer)
        await client.shutdown()

    await asyncio.start_unix_server(dial, path)
    say("ready")
    await asyncio.get_running_loop().create_future()


async def main():
    role, path, *rest = sys.argv[1:]
    transport = await open_hci_socket_transport("1")
    config = DeviceConfiguration(name="bumble's accessory", classic_enabled=True, le_enabled=False)
    device = Device(config=config, host=Host(transport.source, transport.sink))
    device.keystore = MemoryKeyStore()
    if role == "accessory":
        await be_accessory(device, path)
    else:
        await be_device(device, path, *rest)


asyncio.run(main())

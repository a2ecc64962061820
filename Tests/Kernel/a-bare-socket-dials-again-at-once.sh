# modules: bt
# c: Tests/Kernel/rfcomm_echo.c=/easim/bin/rfcomm_echo
# A bare RFCOMM socket closes its connection to a simulated accessory and dials again at once, while the radio link stays up: the
# accessory serves every connection. Only the socket's own kernel is busy for some milliseconds.
. /easim/bluetooth.sh
pair_once
rfcomm_echo redial "$host" "$accessory" 11 60 >/tmp/redial 2>&1 || fail "redialing: $(cat /tmp/redial) $(tail -20 /tmp/accessory.log)"
echo "measured: $(cat /tmp/redial)"
easim send bt:hci0 --10k --expect echo --timeout 30s >/tmp/send 2>&1 || fail "send: $(cat /tmp/send)"

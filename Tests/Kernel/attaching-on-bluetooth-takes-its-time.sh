# modules: bt
# c: Tests/Kernel/rfcomm_echo.c=/easim/bin/rfcomm_echo
# Measures how long it takes to attach, with and without a radio link that is already up: with a bare socket, and with
# easim from the start of the command until apps see the accessory.
. /easim/bluetooth.sh
pair_once
rfcomm_echo serve 25 &
until_true 10 "a plain echo" rfcomm_echo measure "$host" "$accessory" 25 1

# The kernel fails if a device is dialed immediately after the radio link is lost.
drop_radio_link() {
  hcitool -i hci0 dc "$accessory" || true
  sleep 3
}

# at EVENT: prints when the event happened, in milliseconds since the start of the command.
at() { sed -n "s/^ *\([0-9]*\)\.\([0-9]*\)  device *$1.*/\1\2/p" /tmp/ended | head -n 1 | sed 's/^0*\(.\)/\1/'; }

# attach HOW: attaches once with easim.
attach() {
  ends_with 0 easim send bt:hci0 --10k --expect echo
  echo "measured: easim, $1: RFCOMM after $(at '+ cable') ms, link after $(at 'link up') ms, published after $(at '● connect') ms"
}

for _ in 1 2 3; do
  drop_radio_link
  echo "measured: bare socket, radio link down: $(rfcomm_echo connect "$host" "$accessory" 25 1)"
  echo "measured: bare socket, radio link up: $(rfcomm_echo connect "$host" "$accessory" 25 3)"
  drop_radio_link
  attach "radio link down"
  attach "radio link up"
done

# modules: bt
# counted
# c: Tests/Kernel/rfcomm_echo.c=/easim/bin/rfcomm_echo
# Measures 10,000 bytes echoed over RFCOMM: as a plain stream, in frames as iAP2 has them, and by easim; and both ratios.
. /easim/bluetooth.sh
pair_once

rfcomm_echo serve 25 &
rfcomm_echo serve-packets 26 &
until_true 10 "a plain echo" rfcomm_echo measure "$host" "$accessory" 25 1
until_true 10 "an echo in packets" rfcomm_echo measure-packets "$host" "$accessory" 26 1

# Prints the rate from a line such as "123.45 kB/s each way, …", in bytes per second.
rate() {
  sed -n 's/^\( *throughput *\)\{0,1\}\([0-9]*\)\.\([0-9]*\) \([kM]\)B.s each way.*/\2 \3 \4/p' "$1" | {
    read -r whole part unit
    case $unit in M) echo "$whole${part}0000" ;; *) echo "$whole${part}0" ;; esac
  }
}

for _ in 1 2; do
  rfcomm_echo measure "$host" "$accessory" 25 60 >/tmp/plain
  rfcomm_echo measure-packets "$host" "$accessory" 26 60 >/tmp/packets
  ends_with 0 easim burst bt:hci0 --count 60 --timeout 120s
  plain=$(rate /tmp/plain) packets=$(rate /tmp/packets) ours=$(rate /tmp/ended)
  echo "measured: easim $((ours / 1000)) kB/s each way; $((ours * 100 / plain)) % of a plain echo ($((plain / 1000)) kB/s)," \
    "$((ours * 100 / packets)) % of one in packets ($((packets / 1000)) kB/s)"
done
sed -n 's/^  link */measured: 60 bursts: /p' /tmp/ended
[ $((ours * 100 / plain)) -ge 80 ] || fail "less than 80 % of a plain echo: $(cat /tmp/ended)"

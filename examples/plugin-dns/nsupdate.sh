#!/bin/sh
# Changes a TXT value with nsupdate: nsupdate.sh present|cleanup NAME ZONE TTL VALUE
# The secret comes in the environment and goes on through standard input: others on the machine can read command lines.
case $1 in
  present) change="add $2. $4" ;;
  cleanup) change="delete $2." ;;
  *) echo "unknown change $1" >&2; exit 2 ;;
esac
text=$(printf '%s' "$5" | sed 's/[\\"]/\\&/g')
said=$(nsupdate 2>&1 <<COMMANDS
server $DNS_SERVER
zone $3.
key hmac-sha256:$DNS_KEY_NAME $DNS_SECRET
update $change TXT "$text"
send
COMMANDS
) && exit 0
echo "zone $3: $said" >&2
case $said in
  *NOTAUTH* | *REFUSED* | *NOTZONE* | *BADKEY* | *BADSIG*) exit 2 ;;
esac
exit 1

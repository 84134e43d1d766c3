#!/bin/sh
# Puts the readiness agent on a node, enrols it and starts it each minute; with --remove takes it away again.
set -eu

usage() {
    cat <<'TEXT'
usage: install.sh --portal URL [--token-file FILE|-] [OPTIONS]
       install.sh --remove [--purge]

  --portal URL        https://HOST[:PORT] of the portal (http:// only to this machine)
  --token-file FILE   enrolment token; - reads standard input; leave out to update an enrolled node
  --cluster NAME      cluster to enrol in, when the token is good for several
  --ca-file FILE      authority that issued the portal's certificate
  --sha256 HEX        refuse any other agent than this one (from `sha256sum` on a machine you trust)
  --python PATH       interpreter, 3.9 or later (default: python3)
  --cron | --systemd  how to start it (default: systemd where it runs, cron otherwise)
  --remove            stop and remove the agent; configuration, token and spool stay
  --purge             with --remove: these, too

A token never stands on a command line. DESTDIR=DIR installs below DIR and starts nothing.
exit codes: 0 done, 1 failed, 64 wrong usage
TEXT
}

fail() { echo "install.sh: $*" >&2; exit 1; }
misuse() { echo "install.sh: $* (install.sh --help tells more)" >&2; exit 64; }

portal='' token_file='' cluster='' ca_file='' sha256='' python=python3 starter='' remove='' purge=''
while [ $# -gt 0 ]; do
    case $1 in
        --portal | --token-file | --cluster | --ca-file | --sha256 | --python)
            [ $# -ge 2 ] || misuse "$1 needs a value" ;;
    esac
    case $1 in
        --portal) portal=${2%/}; shift ;;
        --token-file) token_file=$2; shift ;;
        --cluster) cluster=$2; shift ;;
        --ca-file) ca_file=$2; shift ;;
        --sha256) sha256=$2; shift ;;
        --python) python=$2; shift ;;
        --cron) starter=cron ;;
        --systemd) starter=systemd ;;
        --remove) remove=yes ;;
        --purge) purge=yes ;;
        -h | --help) usage; exit 0 ;;
        *) misuse "there is no option $1" ;;
    esac
    shift
done

root=${DESTDIR:-}
library=$root/usr/local/lib/readiness-agent
command=$root/usr/local/bin/readiness-agent
settings=$root/etc/readiness-agent
state=$root/var/lib/readiness-agent
cron=$root/etc/cron.d/readiness-agent
units=$root/etc/systemd/system

[ -n "$root" ] || [ "$(id -u)" = 0 ] || fail "run this as root"

remove_agent() {
    if [ -f "$units/readiness-agent.timer" ] && [ -z "$root" ]; then
        systemctl disable --now readiness-agent.timer || true
    fi
    rm -f "$cron" "$units/readiness-agent.timer" "$units/readiness-agent.service" "$command"
    rm -rf "$library"
    if [ -z "$root" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
    if [ -n "$purge" ]; then rm -rf "$settings" "$state"; fi
    echo "readiness-agent removed${purge:+, with its configuration and state}"
}

if [ -n "$remove" ]; then
    remove_agent
    exit 0
fi
[ -z "$purge" ] || misuse "--purge goes with --remove"
[ -n "$portal" ] || misuse "--portal is needed"
case $portal in
    https://*) ;;
    http://127.0.0.1 | http://127.0.0.1:* | http://localhost | http://localhost:* | http://\[::1\] | http://\[::1\]:*) ;;
    *) misuse "--portal must be https:// (http:// only to this machine)" ;;
esac
case $portal in *@* | *[[:space:]]*) misuse "--portal must be an address without a login" ;; esac
python=$(command -v "$python") && [ -x "$python" ] || fail "there is no $python: install Python 3.9 or later, or name one with --python"
case $python in /*) ;; *) python=$PWD/$python ;; esac
"$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 9))' || fail "$python is older than 3.9: name another one with --python"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# Fetches without following redirects and without a proxy of the environment, and checks what came.
"$python" -I - "$portal" "$work/readiness-agent.pyz" "$ca_file" "$sha256" <<'PYTHON' || fail "the agent was not fetched; nothing was changed"
import hashlib, http.client, ssl, sys, urllib.request

portal, target, ca_file, pinned = sys.argv[1:]


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


handlers = [NoRedirect, urllib.request.ProxyHandler({})]
if portal.startswith("https://"):
    handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ca_file or None)))
opener = urllib.request.build_opener(*handlers)
try:
    agent = opener.open(f"{portal}/agent/readiness-agent.pyz", timeout=30).read(16 << 20)
    promised = opener.open(f"{portal}/agent/readiness-agent.pyz.sha256", timeout=30).read(4096).split()[0].decode()
except (OSError, IndexError, ValueError, http.client.HTTPException) as error:
    sys.exit(f"{portal}: {error}")
found = hashlib.sha256(agent).hexdigest()
for wanted, of in ((promised, "the portal's checksum"), (pinned or found, "--sha256")):
    if found != wanted.lower():
        sys.exit(f"the agent that came has SHA-256 {found}, not {wanted} as {of} says")
with open(target, "wb") as file:
    file.write(agent)
PYTHON

umask 022
mkdir -p "$library" "$(dirname "$command")"
# Unpacked and compiled once: a tick from inside the archive would compile the agent anew each minute. Each version has
# a directory of its own and "agent" is a link that changes in one step: a prolog that starts meanwhile finds the old
# version or the new one, never half of one. The version before stays, for a tick that still runs from it.
"$python" -I - "$work/readiness-agent.pyz" "$library" <<'PYTHON' || fail "the agent could not be put into $library; the one before is unchanged"
import compileall, glob, hashlib, os, shutil, sys, zipfile

archive, library = sys.argv[1:]
with open(archive, "rb") as file:
    version = hashlib.sha256(file.read()).hexdigest()[:16]
link = os.path.join(library, "agent")
new, temporary = os.path.join(library, f"{version}.{os.getpid()}"), f"{link}.{os.getpid()}"
zipfile.ZipFile(archive).extractall(new)
if not compileall.compile_dir(new, quiet=1):
    sys.exit("the agent does not compile")
shutil.copyfile(archive, os.path.join(new, "readiness-agent.pyz"))
before = os.path.realpath(link)
if os.path.isdir(link) and not os.path.islink(link):  # of an installer that made no links
    before = os.path.join(os.path.realpath(library), "before")
    os.rename(link, before)
os.symlink(os.path.basename(new), temporary)
os.replace(temporary, link)
for path in glob.glob(os.path.join(glob.escape(library), "*")):
    if os.path.realpath(path) not in (os.path.realpath(new), before):
        (os.unlink if os.path.islink(path) else shutil.rmtree)(path)
PYTHON
quoted=$(printf '%s' "$python" | sed "s/'/'\\\\''/g")
cat >"$command.new" <<TEXT
#!/bin/sh
exec '$quoted' -I ${library#"$root"}/agent "\$@"
TEXT
chmod 755 "$command.new"
mv -f "$command.new" "$command"

if [ -n "$token_file" ]; then
    set -- enroll --portal "$portal" --token-file "$token_file"
    [ -z "$cluster" ] || set -- "$@" --cluster "$cluster"
    [ -z "$ca_file" ] || set -- "$@" --ca-file "$ca_file"
    [ -z "$root" ] || set -- "$@" --home "$settings"
    "$python" -I "$library/agent" "$@" || fail "the agent is installed and not enrolled: run this again with a valid token"
elif [ ! -f "$settings/token" ]; then
    fail "the agent is installed and not enrolled: run this again with --token-file"
fi

if [ -z "$starter" ]; then
    if [ -d /run/systemd/system ]; then starter=systemd; else starter=cron; fi
fi
if [ "$starter" = systemd ]; then
    mkdir -p "$units"
    rm -f "$cron"
    cat >"$units/readiness-agent.service" <<'TEXT'
[Unit]
Description=Readiness agent: measure what is due and push it
After=network-online.target
Wants=network-online.target

[Service]
Type=oneshot
ExecStart=/usr/local/bin/readiness-agent tick --spread 30
StandardOutput=null
Nice=19
IOSchedulingClass=idle
TimeoutStartSec=120
# What a window is for (burn, memory test, fio) goes on beside the ticks after the one that began it.
KillMode=process
TasksMax=1024
NoNewPrivileges=yes
# No option here that makes a mount namespace (ProtectSystem, PrivateTmp): probes must see the node's own mounts.
TEXT
    cat >"$units/readiness-agent.timer" <<'TEXT'
[Unit]
Description=Readiness agent, each minute on the minute

[Timer]
OnCalendar=*-*-* *:*:00
AccuracySec=1s

[Install]
WantedBy=timers.target
TEXT
    if [ -z "$root" ]; then
        systemctl daemon-reload
        systemctl enable --now readiness-agent.timer
    fi
else
    mkdir -p "$(dirname "$cron")"
    rm -f "$units/readiness-agent.timer" "$units/readiness-agent.service"
    cat >"$cron" <<'TEXT'
# Readiness agent: measures on the minute, so that all nodes of a job are disturbed in the same second, and pushes up
# to 30 s later by a hash of the hostname. What it has to say (stderr) goes to the system log.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
* * * * * root ionice -c 3 nice -n 19 readiness-agent tick --spread 30 2>&1 >/dev/null | logger -t readiness-agent
TEXT
    chmod 644 "$cron"
fi
echo "readiness-agent installed; started each minute by $starter"

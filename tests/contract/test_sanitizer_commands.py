"""Command lines that hold a secret, however they are written: over lines, on Windows, in a difference."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer

SANITIZER = ValueSanitizer()
SECRET = "hunter" + "2two"
WORD = "correct" + "horse"

COMMANDS = [
    f"sshpass -p {SECRET} ssh a@b", f"mysql -u root -p{SECRET} db", f"mysql --password={SECRET}",
    f"PGPASSWORD={SECRET} psql -h x", f"curl -u ana:{SECRET} http://x", f"curl -uana:{SECRET} http://x",
    f'curl --user="ana:{SECRET}" http://x', f"curl -H 'X-Api-Key: {SECRET}' http://x", f"curl -b 'sid={SECRET}' x",
    f"curl -d 'password={SECRET}' http://x", f"redis-cli -h x -a {SECRET} ping", f"docker login -u ana -p {SECRET} reg",
    f"docker run -e POSTGRES_PASSWORD={SECRET} postgres", f"helm upgrade x --set db.password={SECRET}",
    f"az login --service-principal -u a -p {SECRET}", f"openssl enc -k {SECRET} -in x", f"zip -P {SECRET} a.zip b",
    f"openssl rsa -passin pass:{SECRET}", f"ldapsearch -D cn=a -w {SECRET} x", f"mongosh -u a -p {SECRET} --host x",
    f"htpasswd -b f ana {SECRET}", f"7z x -p{SECRET} a.7z", f'echo "{SECRET}" | sudo -S ls',
    f'echo "ana:{SECRET}" | chpasswd', f"smbclient //x/y -U ana%{SECRET}", f"npm config set //r/:_authToken {SECRET}9",
    f"git clone https://oauth2:{SECRET}@git.example.org/x", f"htpasswd -nbB ana {SECRET}",
    f"htpasswd -c -b f ana {SECRET}", f"twine upload -u ana -p {SECRET} d",
    f"echo {SECRET} | gh auth login --with-token",
    f"gh auth login --with-token <<< {SECRET}", f"gh secret set X --body {SECRET}", f"lftp -u ana,{SECRET} ftp://x",
    f"http -a ana:{SECRET} x.org", f"https --auth=ana:{SECRET} x.org", f"curl -sSu ana:{SECRET} http://x",
    f"curl -U ana:{SECRET} http://x", f"rabbitmqctl -n r add_user ana {SECRET}",
    f"rabbitmqctl change_password ana {SECRET}", f'nmcli dev wifi connect x password "{SECRET}"',
    f"nmcli con modify x wifi-sec.psk {SECRET}", f"mosquitto_pub -u ana -P {SECRET} -t a",
    f"ipmitool -P {SECRET} power",
    f"rpcclient -U ana%{SECRET} h", f"smbclient --user='ana%{SECRET}' //x/y", f"openssl rsa -passin pass:{WORD}",
    f"openssl passwd -6 -salt ab {SECRET}", f"useradd -p {SECRET} ana", f"unrar x -p{SECRET} a.rar",
    f"psexec h -u a -p {SECRET} cmd", f"composer config http-basic.x.org ana {SECRET}", f'chpasswd <<< "ana:{SECRET}"',
    f"echo {SECRET} | gpg --batch --passphrase-fd 0 -d x", f"security add-generic-password -a x -w {SECRET}",
    f"ConvertTo-SecureString -String {SECRET} -AsPlainText -Force", f"rabbitmqadmin -u b -p {SECRET} list queues",
    f"smbclient //h/s {SECRET} -U bob", f"AUTH bob {SECRET}", f"h:6379> AUTH {SECRET}",
    f"user bob on >{SECRET} ~* +@all",
    f"ACL SETUSER bob reset on >{SECRET}", f"snmp-server community {SECRET} RO",
    f"snmpwalk -v3 -A x1y2z3w4 -X {SECRET} h",
    f"openssl pkcs12 -passin pass:{WORD}1 -out b -passout pass:{SECRET}", f"poetry config http-basic.x u {SECRET}",
    f"poetry config pypi-token.pypi {SECRET}", f"cargo login {SECRET}", f"dotnet nuget push x.nupkg -k {SECRET} -s y",
    f"nuget push a.nupkg {SECRET} -Source x", f"ncftpput -u b -p {SECRET} h / f", f"doctl auth init -t {SECRET}",
    f"pulumi config set --secret app:db {SECRET}", f"mc alias set m http://h AKID {SECRET}",
    f"db2 connect to x user u using {SECRET}", f"cypher-shell -u neo4j -p {SECRET}",
    f"impacket-psexec d/bob:{SECRET}@h", f"x corp.local/bob:{SECRET}@ca.corp.local", f"ncrack admin:{SECRET}@10.0.0.1",
    f"net.exe user ana {SECRET} /add", f"smbclient //nas/share -U ana {SECRET}", f"ktpass /pass {SECRET}",
    f"p4 -u ana -P {SECRET} sync", f"yt-dlp -u ana -p {SECRET} x", f"cvs -d :pserver:ana:{SECRET}@h:/cvs login",
    f"qpdf --encrypt a {SECRET} 256 -- a b", f'echo "root:{SECRET}" | chroot /mnt chpasswd',
    f"echo root:{SECRET} | docker exec -i web chpasswd", f"openssl passwd -salt x {SECRET}",
    f"tacacs-server key 0 {SECRET}", f"crypto isakmp key {SECRET} address 0.0.0.0",
    f"certutil -p {SECRET} -importpfx a",
    f'{{"content": "Password:\\n{SECRET}"', f'{{"content": "Password:\\n{SECRET}", "b": 1',
    f"crane auth login -u a -p {SECRET} r", f"cf login -u a -p {SECRET}", f"nerdctl login -u a -p {SECRET}",
    f"ssh-keygen -p -P {SECRET} -f k", f"supabase link -p {SECRET}", f"poetry publish -u a -p {SECRET}",
    f"vercel -t {SECRET}", f"uv publish -t {SECRET}", f"dotnet nuget add source u -u b -p {SECRET}",
    f"schtasks /create /ru b /rp {SECRET}", f"net ads join -U b%{SECRET}", f"netdom join x /passwordd:{SECRET}",
    f"mycli -u b -p{SECRET} d", f"gitea admin user change-password -u b -p {SECRET}", f"hey -a bob:{SECRET} http://x",
    f"reg add HKLM /v DefaultPassword /t REG_SZ /d {SECRET}", f"databricks secrets put --string-value {SECRET}",
    f"snyk auth {SECRET}", f"wandb login {SECRET}", f"ngrok config add-authtoken {SECRET}", f"rclone obscure {SECRET}",
    f"cloudflared service install {SECRET}", f"vault operator unseal {SECRET}", f"bw unlock {SECRET}",
    f"samba-tool user create b {SECRET}", f"networksetup -setairportnetwork en0 h {SECRET}", f"cf auth b {SECRET}",
    f"mc admin user add m b {SECRET}", f"mosquitto_passwd -b f b {SECRET}", f"bw login b@x {SECRET}",
    f"ansible-vault encrypt_string {SECRET} --name x", f"git config user.password {SECRET}",
    f"grafana-cli admin reset-admin-password {SECRET}", f"redis-cli AUTH default {SECRET}",
    f"composer config github-oauth.github.com {SECRET}", f"pdftotext -upw {SECRET} a.pdf",
    f"rclone config create r s3 secret_access_key {SECRET}", f"drush user:password b {SECRET}",
    f"security set-key-partition-list -S a -k {SECRET} k", f"exp scott/{SECRET}@db file=x.dmp",
]  # fmt: skip


def lines(command: str, joint: str) -> str:
    return re.sub(r" (?=[-/]\w|--)", f" {joint}\n  ", command)


ELSEWHERE: dict[str, Callable[[str], str]] = {
    "over lines": lambda command: lines(command, "\\"),
    "over lines, in JSON": lambda command: json.dumps({"run": lines(command, "\\")}),
    "over lines, as Windows ends them": lambda command: lines(command, "\\").replace("\n", "\r\n"),
    "over such lines, in JSON": lambda command: json.dumps({"run": lines(command, "\\").replace("\n", "\r\n")}),
    "over lines of PowerShell, in JSON": lambda command: json.dumps({"run": lines(command, "`")}),
    "over lines of cmd.exe, in JSON": lambda command: json.dumps({"run": lines(command, "^").replace("\n", "\r\n")}),
    "over lines of PowerShell": lambda command: lines(command, "`"),
    "over lines of cmd.exe": lambda command: lines(command, "^"),
    "on Windows": lambda command: re.sub(r"^([a-z][\w-]*) ", r"\1.exe ", command),
    "added to a file": lambda command: f"@@ -1 +1,2 @@\n run:\n+  {command}\n",
    "in a quotation": lambda command: f"You wrote:\n> {command}\n",
}


@pytest.mark.parametrize("where", ELSEWHERE)
def test_a_command_hides_its_secret_wherever_and_however_it_is_written(where: str) -> None:
    given = [ELSEWHERE[where](command) for command in COMMANDS if not command.startswith(("{", "AUTH", "h:"))]
    assert [text for text in given if SECRET in SANITIZER.redact_text(text)] == []

-- A database as the first schema (retrycontract 0001_initial) left it, with rows of every kind in it, made through the
-- use cases: calls that are pending, retrying, Blocked, guided, valid, rejected, cancelled and expired, one submission
-- that waits sealed (its key is lost), two versions of a tool, keys, operators. Upgrades must keep every row; see
-- tests/test_upgrade.py. Never regenerate it: a newer schema gets a file of its own.
BEGIN TRANSACTION;
CREATE TABLE "auth_group" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(150) NOT NULL UNIQUE);
INSERT INTO "auth_group" VALUES(1,'operator');
INSERT INTO "auth_group" VALUES(2,'viewer');
INSERT INTO "auth_group" VALUES(3,'admin');
CREATE TABLE "auth_group_permissions" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED, "permission_id" integer NOT NULL REFERENCES "auth_permission" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "auth_permission" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "content_type_id" integer NOT NULL REFERENCES "django_content_type" ("id") DEFERRABLE INITIALLY DEFERRED, "codename" varchar(100) NOT NULL, "name" varchar(255) NOT NULL);
INSERT INTO "auth_permission" VALUES(1,1,'add_agent','Can add agent');
INSERT INTO "auth_permission" VALUES(2,1,'change_agent','Can change agent');
INSERT INTO "auth_permission" VALUES(3,1,'delete_agent','Can delete agent');
INSERT INTO "auth_permission" VALUES(4,1,'view_agent','Can view agent');
INSERT INTO "auth_permission" VALUES(5,2,'add_tool','Can add tool');
INSERT INTO "auth_permission" VALUES(6,2,'change_tool','Can change tool');
INSERT INTO "auth_permission" VALUES(7,2,'delete_tool','Can delete tool');
INSERT INTO "auth_permission" VALUES(8,2,'view_tool','Can view tool');
INSERT INTO "auth_permission" VALUES(9,3,'add_apikey','Can add api key');
INSERT INTO "auth_permission" VALUES(10,3,'change_apikey','Can change api key');
INSERT INTO "auth_permission" VALUES(11,3,'delete_apikey','Can delete api key');
INSERT INTO "auth_permission" VALUES(12,3,'view_apikey','Can view api key');
INSERT INTO "auth_permission" VALUES(13,4,'add_call','Can add call');
INSERT INTO "auth_permission" VALUES(14,4,'change_call','Can change call');
INSERT INTO "auth_permission" VALUES(15,4,'delete_call','Can delete call');
INSERT INTO "auth_permission" VALUES(16,4,'view_call','Can view call');
INSERT INTO "auth_permission" VALUES(17,5,'add_attempt','Can add attempt');
INSERT INTO "auth_permission" VALUES(18,5,'change_attempt','Can change attempt');
INSERT INTO "auth_permission" VALUES(19,5,'delete_attempt','Can delete attempt');
INSERT INTO "auth_permission" VALUES(20,5,'view_attempt','Can view attempt');
INSERT INTO "auth_permission" VALUES(21,6,'add_escalation','Can add escalation');
INSERT INTO "auth_permission" VALUES(22,6,'change_escalation','Can change escalation');
INSERT INTO "auth_permission" VALUES(23,6,'delete_escalation','Can delete escalation');
INSERT INTO "auth_permission" VALUES(24,6,'view_escalation','Can view escalation');
INSERT INTO "auth_permission" VALUES(25,7,'add_event','Can add event');
INSERT INTO "auth_permission" VALUES(26,7,'change_event','Can change event');
INSERT INTO "auth_permission" VALUES(27,7,'delete_event','Can delete event');
INSERT INTO "auth_permission" VALUES(28,7,'view_event','Can view event');
INSERT INTO "auth_permission" VALUES(29,8,'add_guidance','Can add guidance');
INSERT INTO "auth_permission" VALUES(30,8,'change_guidance','Can change guidance');
INSERT INTO "auth_permission" VALUES(31,8,'delete_guidance','Can delete guidance');
INSERT INTO "auth_permission" VALUES(32,8,'view_guidance','Can view guidance');
INSERT INTO "auth_permission" VALUES(33,9,'add_toolversion','Can add tool version');
INSERT INTO "auth_permission" VALUES(34,9,'change_toolversion','Can change tool version');
INSERT INTO "auth_permission" VALUES(35,9,'delete_toolversion','Can delete tool version');
INSERT INTO "auth_permission" VALUES(36,9,'view_toolversion','Can view tool version');
INSERT INTO "auth_permission" VALUES(37,10,'add_permission','Can add permission');
INSERT INTO "auth_permission" VALUES(38,10,'change_permission','Can change permission');
INSERT INTO "auth_permission" VALUES(39,10,'delete_permission','Can delete permission');
INSERT INTO "auth_permission" VALUES(40,10,'view_permission','Can view permission');
INSERT INTO "auth_permission" VALUES(41,11,'add_group','Can add group');
INSERT INTO "auth_permission" VALUES(42,11,'change_group','Can change group');
INSERT INTO "auth_permission" VALUES(43,11,'delete_group','Can delete group');
INSERT INTO "auth_permission" VALUES(44,11,'view_group','Can view group');
INSERT INTO "auth_permission" VALUES(45,12,'add_user','Can add user');
INSERT INTO "auth_permission" VALUES(46,12,'change_user','Can change user');
INSERT INTO "auth_permission" VALUES(47,12,'delete_user','Can delete user');
INSERT INTO "auth_permission" VALUES(48,12,'view_user','Can view user');
INSERT INTO "auth_permission" VALUES(49,13,'add_contenttype','Can add content type');
INSERT INTO "auth_permission" VALUES(50,13,'change_contenttype','Can change content type');
INSERT INTO "auth_permission" VALUES(51,13,'delete_contenttype','Can delete content type');
INSERT INTO "auth_permission" VALUES(52,13,'view_contenttype','Can view content type');
INSERT INTO "auth_permission" VALUES(53,14,'add_session','Can add session');
INSERT INTO "auth_permission" VALUES(54,14,'change_session','Can change session');
INSERT INTO "auth_permission" VALUES(55,14,'delete_session','Can delete session');
INSERT INTO "auth_permission" VALUES(56,14,'view_session','Can view session');
CREATE TABLE "auth_user" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "password" varchar(128) NOT NULL, "last_login" datetime NULL, "is_superuser" bool NOT NULL, "username" varchar(150) NOT NULL UNIQUE, "last_name" varchar(150) NOT NULL, "email" varchar(254) NOT NULL, "is_staff" bool NOT NULL, "is_active" bool NOT NULL, "date_joined" datetime NOT NULL, "first_name" varchar(150) NOT NULL);
INSERT INTO "auth_user" VALUES(1,'md5$VihaJ5zaqmiGCzC5pw88hm$62811a5bf9286c12fee9272473388105',NULL,0,'mia','','',0,1,'2026-11-21 01:27:32.936703','');
INSERT INTO "auth_user" VALUES(2,'md5$p0FzZC3SkGGOMq3kOt0p9a$3fb66d777d8850fa8cdc98d77d9577f4',NULL,0,'vera','','',0,1,'2026-11-21 01:27:32.968485','');
INSERT INTO "auth_user" VALUES(3,'md5$T0pnfDRz2m5sad9tZQAb0V$9ca54724985ac1b93e07856d35ebf0cc',NULL,0,'ada','','',1,1,'2026-11-21 01:27:32.996346','');
CREATE TABLE "auth_user_groups" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "user_id" integer NOT NULL REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED, "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED);
INSERT INTO "auth_user_groups" VALUES(1,1,1);
INSERT INTO "auth_user_groups" VALUES(2,2,2);
INSERT INTO "auth_user_groups" VALUES(3,3,3);
CREATE TABLE "auth_user_user_permissions" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "user_id" integer NOT NULL REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED, "permission_id" integer NOT NULL REFERENCES "auth_permission" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "django_content_type" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "app_label" varchar(100) NOT NULL, "model" varchar(100) NOT NULL);
INSERT INTO "django_content_type" VALUES(1,'retrycontract','agent');
INSERT INTO "django_content_type" VALUES(2,'retrycontract','tool');
INSERT INTO "django_content_type" VALUES(3,'retrycontract','apikey');
INSERT INTO "django_content_type" VALUES(4,'retrycontract','call');
INSERT INTO "django_content_type" VALUES(5,'retrycontract','attempt');
INSERT INTO "django_content_type" VALUES(6,'retrycontract','escalation');
INSERT INTO "django_content_type" VALUES(7,'retrycontract','event');
INSERT INTO "django_content_type" VALUES(8,'retrycontract','guidance');
INSERT INTO "django_content_type" VALUES(9,'retrycontract','toolversion');
INSERT INTO "django_content_type" VALUES(10,'auth','permission');
INSERT INTO "django_content_type" VALUES(11,'auth','group');
INSERT INTO "django_content_type" VALUES(12,'auth','user');
INSERT INTO "django_content_type" VALUES(13,'contenttypes','contenttype');
INSERT INTO "django_content_type" VALUES(14,'sessions','session');
CREATE TABLE "django_migrations" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "app" varchar(255) NOT NULL, "name" varchar(255) NOT NULL, "applied" datetime NOT NULL);
INSERT INTO "django_migrations" VALUES(1,'contenttypes','0001_initial','2026-11-21 01:27:31.811389');
INSERT INTO "django_migrations" VALUES(2,'contenttypes','0002_remove_content_type_name','2026-11-21 01:27:31.821603');
INSERT INTO "django_migrations" VALUES(3,'auth','0001_initial','2026-11-21 01:27:31.844090');
INSERT INTO "django_migrations" VALUES(4,'auth','0002_alter_permission_name_max_length','2026-11-21 01:27:31.851789');
INSERT INTO "django_migrations" VALUES(5,'auth','0003_alter_user_email_max_length','2026-11-21 01:27:31.863701');
INSERT INTO "django_migrations" VALUES(6,'auth','0004_alter_user_username_opts','2026-11-21 01:27:31.871103');
INSERT INTO "django_migrations" VALUES(7,'auth','0005_alter_user_last_login_null','2026-11-21 01:27:31.883618');
INSERT INTO "django_migrations" VALUES(8,'auth','0006_require_contenttypes_0002','2026-11-21 01:27:31.889017');
INSERT INTO "django_migrations" VALUES(9,'auth','0007_alter_validators_add_error_messages','2026-11-21 01:27:31.898457');
INSERT INTO "django_migrations" VALUES(10,'auth','0008_alter_user_username_max_length','2026-11-21 01:27:31.907738');
INSERT INTO "django_migrations" VALUES(11,'auth','0009_alter_user_last_name_max_length','2026-11-21 01:27:31.915820');
INSERT INTO "django_migrations" VALUES(12,'auth','0010_alter_group_name_max_length','2026-11-21 01:27:31.927513');
INSERT INTO "django_migrations" VALUES(13,'auth','0011_update_proxy_permissions','2026-11-21 01:27:31.934321');
INSERT INTO "django_migrations" VALUES(14,'auth','0012_alter_user_first_name_max_length','2026-11-21 01:27:31.942607');
INSERT INTO "django_migrations" VALUES(15,'retrycontract','0001_initial','2026-11-21 01:27:32.468886');
INSERT INTO "django_migrations" VALUES(16,'sessions','0001_initial','2026-11-21 01:27:32.490341');
CREATE TABLE "django_session" ("session_key" varchar(40) NOT NULL PRIMARY KEY, "session_data" text NOT NULL, "expire_date" datetime NOT NULL);
CREATE TABLE "retrycontract_agent" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(200) NOT NULL UNIQUE, "namespace" varchar(200) NOT NULL, "created_at" datetime NOT NULL);
INSERT INTO "retrycontract_agent" VALUES(1,'deployer','deployer','2026-03-01 09:00:00');
INSERT INTO "retrycontract_agent" VALUES(2,'reader','reader','2026-03-01 09:00:00');
CREATE TABLE "retrycontract_apikey" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "prefix" varchar(16) NOT NULL, "digest" varchar(64) NOT NULL UNIQUE, "scopes" varchar(200) NOT NULL, "created_at" datetime NOT NULL, "expires_at" datetime NULL, "revoked_at" datetime NULL, "last_used_at" datetime NULL, "agent_id" bigint NOT NULL REFERENCES "retrycontract_agent" ("id") DEFERRABLE INITIALLY DEFERRED);
INSERT INTO "retrycontract_apikey" VALUES(1,'rc_e765ac02','b6e5dd2da65360563bced407098f7c93371ef1051dc2c56994d243989607db9f','agent','2026-03-01 09:00:00',NULL,NULL,NULL,1);
INSERT INTO "retrycontract_apikey" VALUES(2,'rc_92d1febc','e6c09d89f2c24ac54ab6e6dec9d4f92f39f503dcf99f1e1424151333a8cb5ffc','agent','2026-03-01 09:00:00','2026-03-31 09:00:00','2026-03-02 09:00:00',NULL,1);
CREATE TABLE "retrycontract_attempt" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "number" integer unsigned NOT NULL CHECK ("number" >= 0), "state" varchar(10) NOT NULL, "tool_call_id" varchar(200) NOT NULL, "turn" bigint NULL, "submitted_at" datetime NOT NULL, "sealed" BLOB NULL, "lease_token" varchar(40) NOT NULL, "lease_until" datetime NULL, "deliveries" smallint unsigned NOT NULL CHECK ("deliveries" >= 0), "judged_at" datetime NULL, "is_valid" bool NULL, "status" varchar(10) NOT NULL, "errors_json" text NOT NULL, "output" text NULL, "is_parsed" bool NOT NULL, "is_redacted" bool NOT NULL, "output_hash" varchar(64) NOT NULL, "feedback" text NOT NULL, "shown_attempt" integer unsigned NOT NULL CHECK ("shown_attempt" >= 0), "shown_max" integer unsigned NOT NULL CHECK ("shown_max" >= 0), "fingerprint" varchar(64) NOT NULL, "duration_us" bigint unsigned NULL CHECK ("duration_us" >= 0), "call_id" bigint NOT NULL REFERENCES "retrycontract_call" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "attempt_unique_number" UNIQUE ("call_id", "number"), CONSTRAINT "attempt_state_known" CHECK ("state" IN ('queued', 'leased', 'judged', 'dead', 'discarded')), CONSTRAINT "attempt_sealed_until_judged" CHECK ((("sealed" IS NOT NULL AND "state" IN ('queued', 'leased')) OR (NOT ("state" IN ('queued', 'leased')) AND "sealed" IS NULL))), CONSTRAINT "attempt_judged_has_verdict" CHECK ((NOT ("state" = 'judged') OR ("is_valid" IS NOT NULL AND "judged_at" IS NOT NULL))));
INSERT INTO "retrycontract_attempt" VALUES(1,1,'judged','toolu_1',3,'2026-03-01 09:00:40',NULL,'',NULL,0,'2026-03-01 09:00:40',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values"}]','{"service":"web","region":"europe"}',1,0,'52eb621708c6593c0942b5a12e87d06753715f28314e98e1cbe9b150fbaea890','Validation failed for tool ''deploy'' (attempt 1/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Please change ''region'' to one of the allowed values.',1,3,'af17787f077d6eee',380,1);
INSERT INTO "retrycontract_attempt" VALUES(2,2,'judged','toolu_3',3,'2026-03-01 09:01:00',NULL,'',NULL,0,'2026-03-01 09:01:00',1,'valid','[]','{"service":"web","region":"eu-west-1"}',1,0,'2fa2c701f0a73a53d6b63bd34f0845f07c8175b7d42e9b7dbeda1eee870ead67','',2,3,'',55,1);
INSERT INTO "retrycontract_attempt" VALUES(3,1,'judged','toolu_5',NULL,'2026-03-01 09:04:20',NULL,'',NULL,0,'2026-03-01 09:04:20',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values"}]','{"service":"web","region":"europe"}',1,0,'52eb621708c6593c0942b5a12e87d06753715f28314e98e1cbe9b150fbaea890','Validation failed for tool ''deploy'' (attempt 1/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Please change ''region'' to one of the allowed values.',1,3,'af17787f077d6eee',243,2);
INSERT INTO "retrycontract_attempt" VALUES(4,2,'judged','toolu_7',NULL,'2026-03-01 09:04:40',NULL,'',NULL,0,'2026-03-01 09:04:40',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values"}]','{"service":"web","region":"europe"}',1,0,'52eb621708c6593c0942b5a12e87d06753715f28314e98e1cbe9b150fbaea890','Validation failed for tool ''deploy'' (attempt 2/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Please change ''region'' to one of the allowed values.

One attempt is left before a person is asked.',2,3,'af17787f077d6eee',198,2);
INSERT INTO "retrycontract_attempt" VALUES(5,3,'judged','toolu_9',NULL,'2026-03-01 09:05:00',NULL,'',NULL,0,'2026-03-01 09:05:00',0,'blocked','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values"}]','{"service":"web","region":"europe"}',1,0,'52eb621708c6593c0942b5a12e87d06753715f28314e98e1cbe9b150fbaea890','Validation failed for tool ''deploy'' (attempt 3/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

This call is now Blocked: nothing was executed and a person has been asked for guidance. Do not retry it yourself; continue when guidance arrives.',3,3,'af17787f077d6eee',198,2);
INSERT INTO "retrycontract_attempt" VALUES(6,1,'judged','toolu_11',NULL,'2026-03-01 09:05:20',NULL,'',NULL,0,'2026-03-01 09:05:20',0,'retry','[{"error_code":"VAL-004","field_path":"/region","message":"Invalid JSON: a lone surrogate (\\ud83d) is no character","severity":"error","expected_value":"one JSON value","actual_value":null,"keyword":"surrogate","hint":"send complete Unicode characters"}]','"{\"service\": \"web\", \"token\": \"[REDACTED: TOKEN]\", \"region\": \"\\u00fcnknown \\u202e \\ud83d\\ude80\"}"',0,1,'c8a9c6fea2ccca439336c499e73fcd7c698a026fbd238535f7b63ba70d25afb6','Validation failed for tool ''deploy'' (attempt 1/3):

• /region (VAL-004): Invalid JSON: a lone surrogate (\ud83d) is no character
  Expected: one JSON value

Please send complete Unicode characters.',1,3,'8183efb07ed26447',448,3);
INSERT INTO "retrycontract_attempt" VALUES(7,2,'judged','toolu_13',NULL,'2026-03-01 09:05:40',NULL,'',NULL,0,'2026-03-01 09:05:40',0,'retry','[{"error_code":"VAL-004","field_path":"/region","message":"Invalid JSON: a lone surrogate (\\ud83d) is no character","severity":"error","expected_value":"one JSON value","actual_value":null,"keyword":"surrogate","hint":"send complete Unicode characters"}]','"{\"service\": \"web\", \"token\": \"[REDACTED: TOKEN]\", \"region\": \"\\u00fcnknown \\u202e \\ud83d\\ude80\"}"',0,1,'c8a9c6fea2ccca439336c499e73fcd7c698a026fbd238535f7b63ba70d25afb6','Validation failed for tool ''deploy'' (attempt 2/3):

• /region (VAL-004): Invalid JSON: a lone surrogate (\ud83d) is no character
  Expected: one JSON value

Please send complete Unicode characters.

One attempt is left before a person is asked.',2,3,'8183efb07ed26447',101,3);
INSERT INTO "retrycontract_attempt" VALUES(8,3,'judged','toolu_15',NULL,'2026-03-01 09:06:00',NULL,'',NULL,0,'2026-03-01 09:06:00',0,'blocked','[{"error_code":"VAL-004","field_path":"/region","message":"Invalid JSON: a lone surrogate (\\ud83d) is no character","severity":"error","expected_value":"one JSON value","actual_value":null,"keyword":"surrogate","hint":"send complete Unicode characters"}]','"{\"service\": \"web\", \"token\": \"[REDACTED: TOKEN]\", \"region\": \"\\u00fcnknown \\u202e \\ud83d\\ude80\"}"',0,1,'c8a9c6fea2ccca439336c499e73fcd7c698a026fbd238535f7b63ba70d25afb6','Validation failed for tool ''deploy'' (attempt 3/3):

• /region (VAL-004): Invalid JSON: a lone surrogate (\ud83d) is no character
  Expected: one JSON value

This call is now Blocked: nothing was executed and a person has been asked for guidance. Do not retry it yourself; continue when guidance arrives.',3,3,'8183efb07ed26447',94,3);
INSERT INTO "retrycontract_attempt" VALUES(9,1,'judged','toolu_17',NULL,'2026-03-01 09:09:20',NULL,'',NULL,0,'2026-03-01 09:09:20',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values"}]','{"service":"web","region":"europe"}',1,0,'52eb621708c6593c0942b5a12e87d06753715f28314e98e1cbe9b150fbaea890','Validation failed for tool ''deploy'' (attempt 1/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Please change ''region'' to one of the allowed values.',1,3,'af17787f077d6eee',218,4);
INSERT INTO "retrycontract_attempt" VALUES(10,2,'judged','toolu_19',NULL,'2026-03-01 09:09:40',NULL,'',NULL,0,'2026-03-01 09:09:40',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values"}]','{"service":"web","region":"europe"}',1,0,'52eb621708c6593c0942b5a12e87d06753715f28314e98e1cbe9b150fbaea890','Validation failed for tool ''deploy'' (attempt 2/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Please change ''region'' to one of the allowed values.

One attempt is left before a person is asked.',2,3,'af17787f077d6eee',176,4);
INSERT INTO "retrycontract_attempt" VALUES(11,3,'judged','toolu_21',NULL,'2026-03-01 09:10:00',NULL,'',NULL,0,'2026-03-01 09:10:00',0,'blocked','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values"}]','{"service":"web","region":"europe"}',1,0,'52eb621708c6593c0942b5a12e87d06753715f28314e98e1cbe9b150fbaea890','Validation failed for tool ''deploy'' (attempt 3/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

This call is now Blocked: nothing was executed and a person has been asked for guidance. Do not retry it yourself; continue when guidance arrives.',3,3,'af17787f077d6eee',165,4);
INSERT INTO "retrycontract_attempt" VALUES(12,1,'judged','toolu_23',NULL,'2026-03-01 09:11:20',NULL,'',NULL,0,'2026-03-01 09:11:20',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values"}]','{"service":"web","region":"europe"}',1,0,'52eb621708c6593c0942b5a12e87d06753715f28314e98e1cbe9b150fbaea890','Validation failed for tool ''deploy'' (attempt 1/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Please change ''region'' to one of the allowed values.',1,3,'af17787f077d6eee',184,5);
INSERT INTO "retrycontract_attempt" VALUES(13,2,'judged','toolu_25',NULL,'2026-03-01 09:11:40',NULL,'',NULL,0,'2026-03-01 09:11:40',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values"}]','{"service":"web","region":"europe"}',1,0,'52eb621708c6593c0942b5a12e87d06753715f28314e98e1cbe9b150fbaea890','Validation failed for tool ''deploy'' (attempt 2/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Please change ''region'' to one of the allowed values.

One attempt is left before a person is asked.',2,3,'af17787f077d6eee',163,5);
INSERT INTO "retrycontract_attempt" VALUES(14,3,'judged','toolu_27',NULL,'2026-03-01 09:12:00',NULL,'',NULL,0,'2026-03-01 09:12:00',0,'blocked','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values"}]','{"service":"web","region":"europe"}',1,0,'52eb621708c6593c0942b5a12e87d06753715f28314e98e1cbe9b150fbaea890','Validation failed for tool ''deploy'' (attempt 3/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

This call is now Blocked: nothing was executed and a person has been asked for guidance. Do not retry it yourself; continue when guidance arrives.',3,3,'af17787f077d6eee',158,5);
INSERT INTO "retrycontract_attempt" VALUES(15,1,'judged','toolu_29',NULL,'2026-03-01 09:14:00',NULL,'',NULL,0,'2026-03-01 09:14:00',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values"}]','{"service":"web","region":"europe"}',1,0,'52eb621708c6593c0942b5a12e87d06753715f28314e98e1cbe9b150fbaea890','Validation failed for tool ''deploy'' (attempt 1/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Please change ''region'' to one of the allowed values.',1,3,'af17787f077d6eee',175,6);
INSERT INTO "retrycontract_attempt" VALUES(16,1,'judged','toolu_31',NULL,'2026-03-01 09:16:00',NULL,'',NULL,0,'2026-03-01 09:16:00',0,'retry','[{"error_code":"VAL-004","field_path":"","message":"Invalid JSON: the text ends inside a value at line 1, column 20: it was cut off","severity":"error","expected_value":"one JSON value","actual_value":"{\"service\": \"web\", \u2038","keyword":"truncated","hint":"send the whole value again, shorter: it was cut off"}]','"{\"service\": \"web\", "',0,0,'c4445b4c65370c6825d9408d8d9a8be0c11922d234cd709b67e9b20a53dea173','Validation failed for tool ''deploy'' (attempt 1/3):

• (root) (VAL-004): Invalid JSON: the text ends inside a value at line 1, column 20: it was cut off
  Expected: one JSON value
  Actual: {"service": "web", ‸

Please send the whole value again, shorter: it was cut off.',1,3,'09ef2cfa9c501df7',682,7);
INSERT INTO "retrycontract_attempt" VALUES(17,1,'judged','toolu_33',NULL,'2026-03-01 09:17:00',NULL,'',NULL,0,'2026-03-01 09:17:00',0,'retry','[{"error_code":"VAL-015","field_path":"","message":"Object doesn''t match the schema: there is no tool ''unregistered''","severity":"error","expected_value":null,"actual_value":null,"keyword":"tool","hint":"call a registered tool such as ''deploy'', ''held''"}]','{"q":1}',1,0,'7aec572e0f3c0b01bc5bed7e1d69924f83a6459ea520c74cd2880cafc8c5ab64','Validation failed for tool ''unregistered'' (attempt 1/3):

• (root) (VAL-015): Object doesn''t match the schema: there is no tool ''unregistered''

Please call a registered tool such as ''deploy'', ''held''.',1,3,'3253af48f664fc80',365,8);
INSERT INTO "retrycontract_attempt" VALUES(18,1,'judged','toolu_35',NULL,'2026-02-09 08:59:20',NULL,'',NULL,0,'2026-02-09 08:59:20',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values"}]','{"service":"web","region":"europe"}',1,0,'52eb621708c6593c0942b5a12e87d06753715f28314e98e1cbe9b150fbaea890','Validation failed for tool ''deploy'' (attempt 1/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Please change ''region'' to one of the allowed values.',1,3,'af17787f077d6eee',188,9);
INSERT INTO "retrycontract_attempt" VALUES(19,2,'judged','toolu_37',NULL,'2026-02-09 08:59:40',NULL,'',NULL,0,'2026-02-09 08:59:40',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values"}]','{"service":"web","region":"europe"}',1,0,'52eb621708c6593c0942b5a12e87d06753715f28314e98e1cbe9b150fbaea890','Validation failed for tool ''deploy'' (attempt 2/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Please change ''region'' to one of the allowed values.

One attempt is left before a person is asked.',2,3,'af17787f077d6eee',183,9);
INSERT INTO "retrycontract_attempt" VALUES(20,3,'judged','toolu_39',NULL,'2026-02-09 09:00:00',NULL,'',NULL,0,'2026-02-09 09:00:00',0,'blocked','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values"}]','{"service":"web","region":"europe"}',1,0,'52eb621708c6593c0942b5a12e87d06753715f28314e98e1cbe9b150fbaea890','Validation failed for tool ''deploy'' (attempt 3/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

This call is now Blocked: nothing was executed and a person has been asked for guidance. Do not retry it yourself; continue when guidance arrives.',3,3,'af17787f077d6eee',148,9);
INSERT INTO "retrycontract_attempt" VALUES(21,1,'judged','toolu_41',NULL,'2026-03-01 09:20:00',NULL,'',NULL,1,'2026-03-01 09:20:01',1,'valid','[]','{"service":"web","region":"eu-west-1"}',1,0,'2fa2c701f0a73a53d6b63bd34f0845f07c8175b7d42e9b7dbeda1eee870ead67','',1,3,'',56,10);
INSERT INTO "retrycontract_attempt" VALUES(22,1,'queued','toolu_43',NULL,'2026-03-01 09:21:00',X'674141414141427241504F4662316C37757162593952775A32654E485F4C4E7A58714B33694F416D51474D4A324766533372487146625045324C5A372D474A6E7430347068766869504C38785F4A79456A4C4B766938723832777A384149432D3452722D6E786833394D54624C36336363686D6B6A48384459424C6A78447678566D5134584C31736E4E704B6C6C676F506E7346347272417170554479457566425A43544B4F7462355A396B32464274733144524E344F57345659396B6149654D554E736B39705F74463278326438714D4B7332496764534F564D4D61474D326E7032457265587972684D795F324F68344A57726B69395A646B6B4F6E666569594B50494978395938656470','',NULL,0,NULL,NULL,'','[]',NULL,0,0,'','',0,0,'',NULL,11);
CREATE TABLE "retrycontract_call" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "public_id" varchar(40) NOT NULL UNIQUE, "kind" varchar(20) NOT NULL, "tool_name" varchar(300) NOT NULL, "state" varchar(10) NOT NULL, "session_id" varchar(200) NULL, "task_id" varchar(200) NULL, "correlation_id" varchar(200) NULL, "last_turn" bigint NULL, "last_tool_call_id" varchar(200) NOT NULL, "attempts_made" integer unsigned NOT NULL CHECK ("attempts_made" >= 0), "attempts_allowed" integer unsigned NOT NULL CHECK ("attempts_allowed" >= 0), "fingerprint" varchar(64) NOT NULL, "context" text NULL, "created_at" datetime NOT NULL, "updated_at" datetime NOT NULL, "blocked_at" datetime NULL, "expires_at" datetime NULL, "agent_id" bigint NOT NULL REFERENCES "retrycontract_agent" ("id") DEFERRABLE INITIALLY DEFERRED, "tool_id" bigint NULL REFERENCES "retrycontract_tool" ("id") DEFERRABLE INITIALLY DEFERRED, "version_id" bigint NULL REFERENCES "retrycontract_toolversion" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "call_state_known" CHECK ("state" IN ('pending', 'retrying', 'blocked', 'guided', 'valid', 'accepted', 'rejected', 'cancelled', 'expired', 'observed')), CONSTRAINT "call_blocked_has_time" CHECK ((NOT ("state" = 'blocked') OR "blocked_at" IS NOT NULL)));
INSERT INTO "retrycontract_call" VALUES(1,'call_01m7xvefyaqsvhx8eacbj15epy','tool_call','deploy','valid','session-2','t-1','c-1',3,'toolu_3',2,3,'af17787f077d6eee','{"goal":"Deploy the web service"}','2026-03-01 09:00:40','2026-03-01 09:01:00',NULL,NULL,1,1,2);
INSERT INTO "retrycontract_call" VALUES(2,'call_01m7xvefzn330gss907x4xjhc3','tool_call','deploy','blocked','session-6',NULL,NULL,NULL,'toolu_9',3,3,'af17787f077d6eee',NULL,'2026-03-01 09:04:20','2026-03-01 09:05:00','2026-03-01 09:05:00','2026-03-08 09:05:00',1,1,2);
INSERT INTO "retrycontract_call" VALUES(3,'call_01m7xveg109r4xpy5t9y3z4kxz','tool_call','deploy','guided','session-12',NULL,NULL,NULL,'toolu_15',3,5,'8183efb07ed26447',NULL,'2026-03-01 09:05:20','2026-03-01 09:08:00','2026-03-01 09:06:00',NULL,1,1,2);
INSERT INTO "retrycontract_call" VALUES(4,'call_01m7xveg4bp1jqfhew22nm2y3y','tool_call','deploy','guided','session-18',NULL,NULL,NULL,'toolu_21',3,4,'af17787f077d6eee',NULL,'2026-03-01 09:09:20','2026-03-01 09:11:00','2026-03-01 09:10:00',NULL,1,1,2);
INSERT INTO "retrycontract_call" VALUES(5,'call_01m7xveg5zf8t0xt1b9qc04p3e','tool_call','deploy','rejected','session-24',NULL,NULL,NULL,'toolu_27',3,3,'af17787f077d6eee',NULL,'2026-03-01 09:11:20','2026-03-01 09:13:00','2026-03-01 09:12:00',NULL,1,1,2);
INSERT INTO "retrycontract_call" VALUES(6,'call_01m7xveg8bhrcrzpjncg0recsm','tool_call','deploy','cancelled','session-30',NULL,NULL,NULL,'toolu_29',1,3,'af17787f077d6eee',NULL,'2026-03-01 09:14:00','2026-03-01 09:15:00',NULL,NULL,1,1,2);
INSERT INTO "retrycontract_call" VALUES(7,'call_01m7xveg9hff05secgtf32ceb1','tool_call','deploy','retrying','session-32',NULL,NULL,NULL,'toolu_31',1,3,'09ef2cfa9c501df7',NULL,'2026-03-01 09:16:00','2026-03-01 09:16:00',NULL,NULL,1,1,2);
INSERT INTO "retrycontract_call" VALUES(8,'call_01m7xvega6cp3q98et883ncsvk','tool_call','unregistered','retrying','session-34',NULL,NULL,NULL,'toolu_33',1,3,'3253af48f664fc80',NULL,'2026-03-01 09:17:00','2026-03-01 09:17:00',NULL,NULL,1,NULL,NULL);
INSERT INTO "retrycontract_call" VALUES(9,'call_01m7xvegaqapx57sxcqe7zp4bw','tool_call','deploy','expired','session-36',NULL,NULL,NULL,'toolu_39',3,3,'af17787f077d6eee',NULL,'2026-02-09 08:59:20','2026-03-01 09:00:00','2026-02-09 09:00:00','2026-02-16 09:00:00',1,1,2);
INSERT INTO "retrycontract_call" VALUES(10,'call_01m7xvegdd485dhs37m5d1fesa','tool_call','deploy','valid','session-42',NULL,NULL,NULL,'toolu_41',1,3,'',NULL,'2026-03-01 09:20:00','2026-03-01 09:20:01',NULL,NULL,1,1,2);
INSERT INTO "retrycontract_call" VALUES(11,'call_01m7xvegf8dvv010y22besvr54','tool_call','deploy','pending','session-44',NULL,NULL,NULL,'toolu_43',1,3,'',NULL,'2026-03-01 09:21:00','2026-03-01 09:21:00',NULL,NULL,1,1,2);
CREATE TABLE "retrycontract_escalation" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "public_id" varchar(40) NOT NULL UNIQUE, "round" integer unsigned NOT NULL CHECK ("round" >= 0), "state" varchar(10) NOT NULL, "text" text NOT NULL, "opened_at" datetime NOT NULL, "closed_at" datetime NULL, "call_id" bigint NOT NULL REFERENCES "retrycontract_call" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "escalation_unique_round" UNIQUE ("call_id", "round"), CONSTRAINT "escalation_state_known" CHECK ("state" IN ('open', 'answered', 'resolved', 'cancelled', 'expired')), CONSTRAINT "escalation_closed_has_time" CHECK ((("closed_at" IS NULL AND "state" = 'open') OR (NOT ("state" = 'open') AND "closed_at" IS NOT NULL))));
INSERT INTO "retrycontract_escalation" VALUES(1,'esc_01m7xveg0mbwwdmh1qvv2wyf5x',1,'open','Tool ''deploy'' validation failed after 3 attempts.

Validation History:
Attempt 1 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 2 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 3 (just now): /region (VAL-008) Invalid enum value ''europe''

Original call:
  deploy {"service": "web", "region": "europe"}  (sanitised)
  id: toolu_9

Analysis:
- 3 errors in 3 attempts, 1 distinct code, always on /region
- 2 attempts repeated exactly the same mistakes as an earlier one

Recommended Actions:
1. The same mistake came back: say in a hint exactly what the field must hold, with an example.
2. Check whether the allowed values are complete, and name the right one.
3. Give a hint and grant further attempts.
4. Send corrected arguments, which are checked before they reach the agent.

The model was unable to provide valid arguments. Please intervene or provide guidance.','2026-03-01 09:05:00',NULL,2);
INSERT INTO "retrycontract_escalation" VALUES(2,'esc_01m7xveg348jcgq5nwf1xdfsa0',1,'answered','Tool ''deploy'' validation failed after 3 attempts.

Validation History:
Attempt 1 (just now): /region (VAL-004) Invalid JSON: a lone surrogate (\ud83d) is no character
Attempt 2 (just now): /region (VAL-004) Invalid JSON: a lone surrogate (\ud83d) is no character
Attempt 3 (just now): /region (VAL-004) Invalid JSON: a lone surrogate (\ud83d) is no character

Original call:
  deploy "{\"service\": \"web\", \"token\": \"[REDACTED: TOKEN]\", \"region\": \"...\\u202e \\ud83d\\ude80\"}" (truncated)  (sanitised)
  id: toolu_15

Analysis:
- 3 errors in 3 attempts, 1 distinct code, always on /region
- 2 attempts repeated exactly the same mistakes as an earlier one

Recommended Actions:
1. The same mistake came back: say in a hint exactly what the field must hold, with an example.
2. Give a hint and grant further attempts.
3. Send corrected arguments, which are checked before they reach the agent.
4. Accept the output as it is, if the schema is too strict for it.

The model was unable to provide valid arguments. Please intervene or provide guidance.','2026-03-01 09:06:00','2026-03-01 09:08:00',3);
INSERT INTO "retrycontract_escalation" VALUES(3,'esc_01m7xveg53g15t467gq546hkrv',1,'answered','Tool ''deploy'' validation failed after 3 attempts.

Validation History:
Attempt 1 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 2 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 3 (just now): /region (VAL-008) Invalid enum value ''europe''

Original call:
  deploy {"service": "web", "region": "europe"}  (sanitised)
  id: toolu_21

Analysis:
- 3 errors in 3 attempts, 1 distinct code, always on /region
- 2 attempts repeated exactly the same mistakes as an earlier one

Recommended Actions:
1. The same mistake came back: say in a hint exactly what the field must hold, with an example.
2. Check whether the allowed values are complete, and name the right one.
3. Give a hint and grant further attempts.
4. Send corrected arguments, which are checked before they reach the agent.

The model was unable to provide valid arguments. Please intervene or provide guidance.','2026-03-01 09:10:00','2026-03-01 09:11:00',4);
INSERT INTO "retrycontract_escalation" VALUES(4,'esc_01m7xveg7cyzpmffp407vgqvb4',1,'answered','Tool ''deploy'' validation failed after 3 attempts.

Validation History:
Attempt 1 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 2 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 3 (just now): /region (VAL-008) Invalid enum value ''europe''

Original call:
  deploy {"service": "web", "region": "europe"}  (sanitised)
  id: toolu_27

Analysis:
- 3 errors in 3 attempts, 1 distinct code, always on /region
- 2 attempts repeated exactly the same mistakes as an earlier one

Recommended Actions:
1. The same mistake came back: say in a hint exactly what the field must hold, with an example.
2. Check whether the allowed values are complete, and name the right one.
3. Give a hint and grant further attempts.
4. Send corrected arguments, which are checked before they reach the agent.

The model was unable to provide valid arguments. Please intervene or provide guidance.','2026-03-01 09:12:00','2026-03-01 09:13:00',5);
INSERT INTO "retrycontract_escalation" VALUES(5,'esc_01m7xvegbvy325vrfwnhbfpwym',1,'expired','Tool ''deploy'' validation failed after 3 attempts.

Validation History:
Attempt 1 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 2 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 3 (just now): /region (VAL-008) Invalid enum value ''europe''

Original call:
  deploy {"service": "web", "region": "europe"}  (sanitised)
  id: toolu_39

Analysis:
- 3 errors in 3 attempts, 1 distinct code, always on /region
- 2 attempts repeated exactly the same mistakes as an earlier one

Recommended Actions:
1. The same mistake came back: say in a hint exactly what the field must hold, with an example.
2. Check whether the allowed values are complete, and name the right one.
3. Give a hint and grant further attempts.
4. Send corrected arguments, which are checked before they reach the agent.

The model was unable to provide valid arguments. Please intervene or provide guidance.','2026-02-09 09:00:00','2026-03-01 09:00:00',9);
CREATE TABLE "retrycontract_event" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(40) NOT NULL, "actor" varchar(200) NOT NULL, "door" varchar(10) NOT NULL, "from_state" varchar(10) NOT NULL, "to_state" varchar(10) NOT NULL, "data" text NOT NULL, "at" datetime NOT NULL, "call_id" bigint NULL REFERENCES "retrycontract_call" ("id") DEFERRABLE INITIALLY DEFERRED);
INSERT INTO "retrycontract_event" VALUES(1,'tool.registered','deployer','api','','','{"tool":"deploy","version":1}','2026-11-21 01:27:33.021756',NULL);
INSERT INTO "retrycontract_event" VALUES(2,'tool.registered','deployer','api','','','{"tool":"deploy","version":2}','2026-11-21 01:27:33.039183',NULL);
INSERT INTO "retrycontract_event" VALUES(3,'tool.registered','deployer','api','','','{"tool":"held","version":1}','2026-11-21 01:27:33.048053',NULL);
INSERT INTO "retrycontract_event" VALUES(4,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-008"]}','2026-03-01 09:00:40',1);
INSERT INTO "retrycontract_event" VALUES(5,'attempt.judged','deployer','api','retrying','valid','{"attempt":2,"valid":true,"codes":[]}','2026-03-01 09:01:00',1);
INSERT INTO "retrycontract_event" VALUES(6,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-008"]}','2026-03-01 09:04:20',2);
INSERT INTO "retrycontract_event" VALUES(7,'attempt.judged','deployer','api','retrying','retrying','{"attempt":2,"valid":false,"codes":["VAL-008"]}','2026-03-01 09:04:40',2);
INSERT INTO "retrycontract_event" VALUES(8,'attempt.judged','deployer','api','retrying','blocked','{"attempt":3,"valid":false,"codes":["VAL-008"]}','2026-03-01 09:05:00',2);
INSERT INTO "retrycontract_event" VALUES(9,'escalation.opened','deployer','api','','blocked','{"round":1}','2026-03-01 09:05:00',2);
INSERT INTO "retrycontract_event" VALUES(10,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-004"]}','2026-03-01 09:05:20',3);
INSERT INTO "retrycontract_event" VALUES(11,'attempt.judged','deployer','api','retrying','retrying','{"attempt":2,"valid":false,"codes":["VAL-004"]}','2026-03-01 09:05:40',3);
INSERT INTO "retrycontract_event" VALUES(12,'attempt.judged','deployer','api','retrying','blocked','{"attempt":3,"valid":false,"codes":["VAL-004"]}','2026-03-01 09:06:00',3);
INSERT INTO "retrycontract_event" VALUES(13,'escalation.opened','deployer','api','','blocked','{"round":1}','2026-03-01 09:06:00',3);
INSERT INTO "retrycontract_event" VALUES(14,'guidance.given','mia','dashboard','blocked','guided','{"decision":"hint","granted":2,"late":false}','2026-03-01 09:08:00',3);
INSERT INTO "retrycontract_event" VALUES(15,'guidance.acknowledged','deployer','api','','guided','{}','2026-03-01 09:09:00',3);
INSERT INTO "retrycontract_event" VALUES(16,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-008"]}','2026-03-01 09:09:20',4);
INSERT INTO "retrycontract_event" VALUES(17,'attempt.judged','deployer','api','retrying','retrying','{"attempt":2,"valid":false,"codes":["VAL-008"]}','2026-03-01 09:09:40',4);
INSERT INTO "retrycontract_event" VALUES(18,'attempt.judged','deployer','api','retrying','blocked','{"attempt":3,"valid":false,"codes":["VAL-008"]}','2026-03-01 09:10:00',4);
INSERT INTO "retrycontract_event" VALUES(19,'escalation.opened','deployer','api','','blocked','{"round":1}','2026-03-01 09:10:00',4);
INSERT INTO "retrycontract_event" VALUES(20,'guidance.given','mia','dashboard','blocked','guided','{"decision":"corrected","granted":1,"late":false}','2026-03-01 09:11:00',4);
INSERT INTO "retrycontract_event" VALUES(21,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-008"]}','2026-03-01 09:11:20',5);
INSERT INTO "retrycontract_event" VALUES(22,'attempt.judged','deployer','api','retrying','retrying','{"attempt":2,"valid":false,"codes":["VAL-008"]}','2026-03-01 09:11:40',5);
INSERT INTO "retrycontract_event" VALUES(23,'attempt.judged','deployer','api','retrying','blocked','{"attempt":3,"valid":false,"codes":["VAL-008"]}','2026-03-01 09:12:00',5);
INSERT INTO "retrycontract_event" VALUES(24,'escalation.opened','deployer','api','','blocked','{"round":1}','2026-03-01 09:12:00',5);
INSERT INTO "retrycontract_event" VALUES(25,'guidance.given','mia','dashboard','blocked','rejected','{"decision":"reject","granted":0,"late":false}','2026-03-01 09:13:00',5);
INSERT INTO "retrycontract_event" VALUES(26,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-008"]}','2026-03-01 09:14:00',6);
INSERT INTO "retrycontract_event" VALUES(27,'call.cancelled','deployer','api','retrying','cancelled','{}','2026-03-01 09:15:00',6);
INSERT INTO "retrycontract_event" VALUES(28,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-004"]}','2026-03-01 09:16:00',7);
INSERT INTO "retrycontract_event" VALUES(29,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-015"]}','2026-03-01 09:17:00',8);
INSERT INTO "retrycontract_event" VALUES(30,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-008"]}','2026-02-09 08:59:20',9);
INSERT INTO "retrycontract_event" VALUES(31,'attempt.judged','deployer','api','retrying','retrying','{"attempt":2,"valid":false,"codes":["VAL-008"]}','2026-02-09 08:59:40',9);
INSERT INTO "retrycontract_event" VALUES(32,'attempt.judged','deployer','api','retrying','blocked','{"attempt":3,"valid":false,"codes":["VAL-008"]}','2026-02-09 09:00:00',9);
INSERT INTO "retrycontract_event" VALUES(33,'escalation.opened','deployer','api','','blocked','{"round":1}','2026-02-09 09:00:00',9);
INSERT INTO "retrycontract_event" VALUES(34,'call.expired','sweep','worker','blocked','expired','{}','2026-03-01 09:00:00',9);
INSERT INTO "retrycontract_event" VALUES(35,'attempt.queued','deployer','api','pending','pending','{"attempt":1}','2026-03-01 09:20:00',10);
INSERT INTO "retrycontract_event" VALUES(36,'attempt.judged','deployer','worker','pending','valid','{"attempt":1,"valid":true,"codes":[]}','2026-03-01 09:20:01',10);
INSERT INTO "retrycontract_event" VALUES(37,'attempt.queued','deployer','api','pending','pending','{"attempt":1}','2026-03-01 09:21:00',11);
CREATE TABLE "retrycontract_guidance" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "decision" varchar(10) NOT NULL, "text" text NOT NULL, "arguments" text NULL, "patch" text NULL, "granted" smallint unsigned NOT NULL CHECK ("granted" >= 0), "rendered" text NOT NULL, "given_at" datetime NOT NULL, "delivered_at" datetime NULL, "acknowledged_at" datetime NULL, "base_id" bigint NULL REFERENCES "retrycontract_attempt" ("id") DEFERRABLE INITIALLY DEFERRED, "call_id" bigint NOT NULL REFERENCES "retrycontract_call" ("id") DEFERRABLE INITIALLY DEFERRED, "escalation_id" bigint NOT NULL UNIQUE REFERENCES "retrycontract_escalation" ("id") DEFERRABLE INITIALLY DEFERRED, "operator_id" integer NOT NULL REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "guidance_decision_known" CHECK ("decision" IN ('hint', 'corrected', 'accept', 'reject')), CONSTRAINT "guidance_grant_range" CHECK ("granted" BETWEEN 0 AND 5));
INSERT INTO "retrycontract_guidance" VALUES(1,'hint','Use eu-west-1.',NULL,NULL,2,'A person answered your Blocked call of tool ''deploy'':

> Use eu-west-1.

Nothing was executed so far. Correct the arguments and call the tool again: this is attempt 4/5, 2 are left.','2026-03-01 09:08:00','2026-03-01 09:09:00','2026-03-01 09:09:00',8,3,2,1);
INSERT INTO "retrycontract_guidance" VALUES(2,'corrected','','{"service":"web","region":"eu-west-1"}',NULL,1,'A person corrected the arguments of your Blocked call of tool ''deploy''.

Send exactly these:
{"service": "web", "region": "eu-west-1"}

They replace your earlier call, which was not executed: do not send that one again. Call the tool with the corrected arguments now: this is attempt 4/4.','2026-03-01 09:11:00',NULL,NULL,11,4,3,1);
INSERT INTO "retrycontract_guidance" VALUES(3,'reject','Do not deploy today.',NULL,NULL,0,'A person rejected your call of tool ''deploy'':

> Do not deploy today.

Nothing was executed. Do not try this call again; stop, or take another way.','2026-03-01 09:13:00',NULL,NULL,14,5,4,1);
CREATE TABLE "retrycontract_tool" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "namespace" varchar(200) NOT NULL, "name" varchar(300) NOT NULL, "kind" varchar(20) NOT NULL, "description" text NOT NULL, "strict" bool NOT NULL, "hold" bool NOT NULL, "mode" varchar(10) NULL, "max_attempts" smallint unsigned NULL CHECK ("max_attempts" >= 0), "created_at" datetime NOT NULL, "updated_at" datetime NOT NULL, "current_version_id" bigint NULL REFERENCES "retrycontract_toolversion" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "tool_unique_name" UNIQUE ("namespace", "name"), CONSTRAINT "tool_kind_known" CHECK ("kind" IN ('tool_call', 'agent_response', 'source_file', 'extraction')), CONSTRAINT "tool_max_attempts_range" CHECK (("max_attempts" IS NULL OR "max_attempts" BETWEEN 1 AND 10)));
INSERT INTO "retrycontract_tool" VALUES(1,'deployer','deploy','tool_call','',1,0,NULL,NULL,'2026-11-21 01:27:33.021756','2026-11-21 01:27:33.039183',2);
INSERT INTO "retrycontract_tool" VALUES(2,'deployer','held','tool_call','',1,1,NULL,NULL,'2026-11-21 01:27:33.048053','2026-11-21 01:27:33.048053',3);
CREATE TABLE "retrycontract_toolversion" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "number" integer unsigned NOT NULL CHECK ("number" >= 0), "schema" text NOT NULL, "schema_hash" varchar(64) NOT NULL, "created_at" datetime NOT NULL, "quarantined_at" datetime NULL, "tool_id" bigint NOT NULL REFERENCES "retrycontract_tool" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "toolversion_unique_number" UNIQUE ("tool_id", "number"), CONSTRAINT "toolversion_unique_schema" UNIQUE ("tool_id", "schema_hash"));
INSERT INTO "retrycontract_toolversion" VALUES(1,1,'{"type":"object","properties":{"service":{"type":"string"},"region":{"enum":["eu-west-1","us-east-1"]},"replicas":{"type":"integer","minimum":1}},"required":["service","region"],"additionalProperties":false}','ec4dfa1a26c469728bc06c54c01b907e46e265b188ee9d6007a96e54cd225f38','2026-11-21 01:27:33.021756',NULL,1);
INSERT INTO "retrycontract_toolversion" VALUES(2,2,'{"type":"object","properties":{"service":{"type":"string"},"region":{"enum":["eu-west-1","us-east-1"]},"replicas":{"type":"integer","minimum":1}},"required":["service","region"],"additionalProperties":false,"title":"second version"}','19364725574a6c68d51a14f5bcb7be25840bd272da93ae35d893af012fbc39fe','2026-11-21 01:27:33.039183',NULL,1);
INSERT INTO "retrycontract_toolversion" VALUES(3,1,'{"type":"object","properties":{"service":{"type":"string"},"region":{"enum":["eu-west-1","us-east-1"]},"replicas":{"type":"integer","minimum":1}},"required":["service","region"],"additionalProperties":false}','ec4dfa1a26c469728bc06c54c01b907e46e265b188ee9d6007a96e54cd225f38','2026-11-21 01:27:33.048053',NULL,2);
CREATE UNIQUE INDEX "django_content_type_app_label_model_76bd3d3b_uniq" ON "django_content_type" ("app_label", "model");
CREATE UNIQUE INDEX "auth_group_permissions_group_id_permission_id_0cd325b0_uniq" ON "auth_group_permissions" ("group_id", "permission_id");
CREATE INDEX "auth_group_permissions_group_id_b120cbf9" ON "auth_group_permissions" ("group_id");
CREATE INDEX "auth_group_permissions_permission_id_84c5c92e" ON "auth_group_permissions" ("permission_id");
CREATE UNIQUE INDEX "auth_user_groups_user_id_group_id_94350c0c_uniq" ON "auth_user_groups" ("user_id", "group_id");
CREATE INDEX "auth_user_groups_user_id_6a12ed8b" ON "auth_user_groups" ("user_id");
CREATE INDEX "auth_user_groups_group_id_97559544" ON "auth_user_groups" ("group_id");
CREATE UNIQUE INDEX "auth_user_user_permissions_user_id_permission_id_14a6b632_uniq" ON "auth_user_user_permissions" ("user_id", "permission_id");
CREATE INDEX "auth_user_user_permissions_user_id_a95ead1b" ON "auth_user_user_permissions" ("user_id");
CREATE INDEX "auth_user_user_permissions_permission_id_1fbb5f2c" ON "auth_user_user_permissions" ("permission_id");
CREATE UNIQUE INDEX "auth_permission_content_type_id_codename_01ab375a_uniq" ON "auth_permission" ("content_type_id", "codename");
CREATE INDEX "auth_permission_content_type_id_2f476e4b" ON "auth_permission" ("content_type_id");
CREATE INDEX "retrycontract_apikey_agent_id_f82a022a" ON "retrycontract_apikey" ("agent_id");
CREATE INDEX "retrycontract_event_call_id_5d70143d" ON "retrycontract_event" ("call_id");
CREATE INDEX "retrycontract_attempt_call_id_8524baae" ON "retrycontract_attempt" ("call_id");
CREATE INDEX "attempt_waiting" ON "retrycontract_attempt" ("lease_until", "id") WHERE "state" IN ('queued', 'leased');
CREATE UNIQUE INDEX "escalation_one_open" ON "retrycontract_escalation" ("call_id") WHERE "state" = 'open';
CREATE INDEX "retrycontract_escalation_call_id_308b4181" ON "retrycontract_escalation" ("call_id");
CREATE INDEX "retrycontract_guidance_base_id_c39898a9" ON "retrycontract_guidance" ("base_id");
CREATE INDEX "retrycontract_guidance_call_id_905bcc20" ON "retrycontract_guidance" ("call_id");
CREATE INDEX "retrycontract_guidance_operator_id_f16cafa2" ON "retrycontract_guidance" ("operator_id");
CREATE INDEX "retrycontract_toolversion_tool_id_c9584c05" ON "retrycontract_toolversion" ("tool_id");
CREATE INDEX "retrycontract_tool_current_version_id_82df8420" ON "retrycontract_tool" ("current_version_id");
CREATE INDEX "retrycontract_call_agent_id_44cfbde0" ON "retrycontract_call" ("agent_id");
CREATE INDEX "retrycontract_call_tool_id_819d6e33" ON "retrycontract_call" ("tool_id");
CREATE INDEX "retrycontract_call_version_id_5bfb97a3" ON "retrycontract_call" ("version_id");
CREATE INDEX "call_queue" ON "retrycontract_call" ("blocked_at") WHERE "state" = 'blocked';
CREATE INDEX "call_open_by_session" ON "retrycontract_call" ("agent_id", "session_id", "tool_name") WHERE NOT ("state" IN ('accepted', 'cancelled', 'expired', 'observed', 'rejected', 'valid'));
CREATE INDEX "call_open_by_id" ON "retrycontract_call" ("agent_id", "last_tool_call_id") WHERE NOT ("state" IN ('accepted', 'cancelled', 'expired', 'observed', 'rejected', 'valid'));
CREATE INDEX "call_by_agent" ON "retrycontract_call" ("agent_id", "id" DESC);
CREATE INDEX "call_by_state" ON "retrycontract_call" ("state", "id" DESC);
CREATE INDEX "django_session_expire_date_a5c62663" ON "django_session" ("expire_date");
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('django_migrations',16);
INSERT INTO "sqlite_sequence" VALUES('django_content_type',14);
INSERT INTO "sqlite_sequence" VALUES('auth_permission',56);
INSERT INTO "sqlite_sequence" VALUES('auth_group',3);
INSERT INTO "sqlite_sequence" VALUES('auth_user',3);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_attempt',22);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_escalation',5);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_guidance',3);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_toolversion',3);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_tool',2);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_call',11);
INSERT INTO "sqlite_sequence" VALUES('auth_user_groups',3);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_agent',2);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_apikey',2);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_event',37);
COMMIT;

-- A database as the migration 0001_initial left it, with rows of every kind in it that the use cases made: calls that are
-- pending, retrying, Blocked, guided, valid, rejected, cancelled and expired, one submission that waits sealed (its key
-- is lost), two versions of a tool, keys, operators. Upgrades must keep every row; see test_upgrade.py. Written by
-- make_dump.py; never written anew once it was released.
BEGIN TRANSACTION;
CREATE TABLE "auth_group" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(150) NOT NULL UNIQUE);
INSERT INTO "auth_group" VALUES(1,'operator');
INSERT INTO "auth_group" VALUES(2,'admin');
CREATE TABLE "auth_group_permissions" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED, "permission_id" integer NOT NULL REFERENCES "auth_permission" ("id") DEFERRABLE INITIALLY DEFERRED);
INSERT INTO "auth_group_permissions" VALUES(1,2,128);
INSERT INTO "auth_group_permissions" VALUES(2,2,132);
INSERT INTO "auth_group_permissions" VALUES(3,2,124);
CREATE TABLE "auth_permission" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "content_type_id" integer NOT NULL REFERENCES "django_content_type" ("id") DEFERRABLE INITIALLY DEFERRED, "codename" varchar(100) NOT NULL, "name" varchar(255) NOT NULL);
INSERT INTO "auth_permission" VALUES(1,1,'add_agent','Can add agent');
INSERT INTO "auth_permission" VALUES(2,1,'change_agent','Can change agent');
INSERT INTO "auth_permission" VALUES(3,1,'delete_agent','Can delete agent');
INSERT INTO "auth_permission" VALUES(4,1,'view_agent','Can view agent');
INSERT INTO "auth_permission" VALUES(5,2,'add_attempt','Can add attempt');
INSERT INTO "auth_permission" VALUES(6,2,'change_attempt','Can change attempt');
INSERT INTO "auth_permission" VALUES(7,2,'delete_attempt','Can delete attempt');
INSERT INTO "auth_permission" VALUES(8,2,'view_attempt','Can view attempt');
INSERT INTO "auth_permission" VALUES(9,3,'add_outboxmessage','Can add outbox message');
INSERT INTO "auth_permission" VALUES(10,3,'change_outboxmessage','Can change outbox message');
INSERT INTO "auth_permission" VALUES(11,3,'delete_outboxmessage','Can delete outbox message');
INSERT INTO "auth_permission" VALUES(12,3,'view_outboxmessage','Can view outbox message');
INSERT INTO "auth_permission" VALUES(13,4,'add_tool','Can add tool');
INSERT INTO "auth_permission" VALUES(14,4,'change_tool','Can change tool');
INSERT INTO "auth_permission" VALUES(15,4,'delete_tool','Can delete tool');
INSERT INTO "auth_permission" VALUES(16,4,'view_tool','Can view tool');
INSERT INTO "auth_permission" VALUES(17,5,'add_workerbeat','Can add worker beat');
INSERT INTO "auth_permission" VALUES(18,5,'change_workerbeat','Can change worker beat');
INSERT INTO "auth_permission" VALUES(19,5,'delete_workerbeat','Can delete worker beat');
INSERT INTO "auth_permission" VALUES(20,5,'view_workerbeat','Can view worker beat');
INSERT INTO "auth_permission" VALUES(21,6,'add_answerrecord','Can add answer record');
INSERT INTO "auth_permission" VALUES(22,6,'change_answerrecord','Can change answer record');
INSERT INTO "auth_permission" VALUES(23,6,'delete_answerrecord','Can delete answer record');
INSERT INTO "auth_permission" VALUES(24,6,'view_answerrecord','Can view answer record');
INSERT INTO "auth_permission" VALUES(25,7,'add_apikey','Can add api key');
INSERT INTO "auth_permission" VALUES(26,7,'change_apikey','Can change api key');
INSERT INTO "auth_permission" VALUES(27,7,'delete_apikey','Can delete api key');
INSERT INTO "auth_permission" VALUES(28,7,'view_apikey','Can view api key');
INSERT INTO "auth_permission" VALUES(29,8,'add_loggedresponse','Can add agent response');
INSERT INTO "auth_permission" VALUES(30,8,'change_loggedresponse','Can change agent response');
INSERT INTO "auth_permission" VALUES(31,8,'delete_loggedresponse','Can delete agent response');
INSERT INTO "auth_permission" VALUES(32,8,'view_loggedresponse','Can view agent response');
INSERT INTO "auth_permission" VALUES(33,9,'add_call','Can add call');
INSERT INTO "auth_permission" VALUES(34,9,'change_call','Can change call');
INSERT INTO "auth_permission" VALUES(35,9,'delete_call','Can delete call');
INSERT INTO "auth_permission" VALUES(36,9,'view_call','Can view call');
INSERT INTO "auth_permission" VALUES(37,10,'add_escalation','Can add escalation');
INSERT INTO "auth_permission" VALUES(38,10,'change_escalation','Can change escalation');
INSERT INTO "auth_permission" VALUES(39,10,'delete_escalation','Can delete escalation');
INSERT INTO "auth_permission" VALUES(40,10,'view_escalation','Can view escalation');
INSERT INTO "auth_permission" VALUES(41,11,'add_claim','Can add claim');
INSERT INTO "auth_permission" VALUES(42,11,'change_claim','Can change claim');
INSERT INTO "auth_permission" VALUES(43,11,'delete_claim','Can delete claim');
INSERT INTO "auth_permission" VALUES(44,11,'view_claim','Can view claim');
INSERT INTO "auth_permission" VALUES(45,12,'add_event','Can add event');
INSERT INTO "auth_permission" VALUES(46,12,'change_event','Can change event');
INSERT INTO "auth_permission" VALUES(47,12,'delete_event','Can delete event');
INSERT INTO "auth_permission" VALUES(48,12,'view_event','Can view event');
INSERT INTO "auth_permission" VALUES(49,13,'add_failedlogins','Can add failed logins');
INSERT INTO "auth_permission" VALUES(50,13,'change_failedlogins','Can change failed logins');
INSERT INTO "auth_permission" VALUES(51,13,'delete_failedlogins','Can delete failed logins');
INSERT INTO "auth_permission" VALUES(52,13,'view_failedlogins','Can view failed logins');
INSERT INTO "auth_permission" VALUES(53,14,'add_guidance','Can add guidance');
INSERT INTO "auth_permission" VALUES(54,14,'change_guidance','Can change guidance');
INSERT INTO "auth_permission" VALUES(55,14,'delete_guidance','Can delete guidance');
INSERT INTO "auth_permission" VALUES(56,14,'view_guidance','Can view guidance');
INSERT INTO "auth_permission" VALUES(57,15,'add_guidanceversion','Can add guidance version');
INSERT INTO "auth_permission" VALUES(58,15,'change_guidanceversion','Can change guidance version');
INSERT INTO "auth_permission" VALUES(59,15,'delete_guidanceversion','Can delete guidance version');
INSERT INTO "auth_permission" VALUES(60,15,'view_guidanceversion','Can view guidance version');
INSERT INTO "auth_permission" VALUES(61,16,'add_heldanswer','Can add held answer');
INSERT INTO "auth_permission" VALUES(62,16,'change_heldanswer','Can change held answer');
INSERT INTO "auth_permission" VALUES(63,16,'delete_heldanswer','Can delete held answer');
INSERT INTO "auth_permission" VALUES(64,16,'view_heldanswer','Can view held answer');
INSERT INTO "auth_permission" VALUES(65,17,'add_idempotencykey','Can add idempotency key');
INSERT INTO "auth_permission" VALUES(66,17,'change_idempotencykey','Can change idempotency key');
INSERT INTO "auth_permission" VALUES(67,17,'delete_idempotencykey','Can delete idempotency key');
INSERT INTO "auth_permission" VALUES(68,17,'view_idempotencykey','Can view idempotency key');
INSERT INTO "auth_permission" VALUES(69,18,'add_notice','Can add notice');
INSERT INTO "auth_permission" VALUES(70,18,'change_notice','Can change notice');
INSERT INTO "auth_permission" VALUES(71,18,'delete_notice','Can delete notice');
INSERT INTO "auth_permission" VALUES(72,18,'view_notice','Can view notice');
INSERT INTO "auth_permission" VALUES(73,19,'add_preferences','Can add preferences');
INSERT INTO "auth_permission" VALUES(74,19,'change_preferences','Can change preferences');
INSERT INTO "auth_permission" VALUES(75,19,'delete_preferences','Can delete preferences');
INSERT INTO "auth_permission" VALUES(76,19,'view_preferences','Can view preferences');
INSERT INTO "auth_permission" VALUES(77,20,'add_rollup','Can add rollup');
INSERT INTO "auth_permission" VALUES(78,20,'change_rollup','Can change rollup');
INSERT INTO "auth_permission" VALUES(79,20,'delete_rollup','Can delete rollup');
INSERT INTO "auth_permission" VALUES(80,20,'view_rollup','Can view rollup');
INSERT INTO "auth_permission" VALUES(81,21,'add_savedreply','Can add saved reply');
INSERT INTO "auth_permission" VALUES(82,21,'change_savedreply','Can change saved reply');
INSERT INTO "auth_permission" VALUES(83,21,'delete_savedreply','Can delete saved reply');
INSERT INTO "auth_permission" VALUES(84,21,'view_savedreply','Can view saved reply');
INSERT INTO "auth_permission" VALUES(85,22,'add_provideridentity','Can add provider identity');
INSERT INTO "auth_permission" VALUES(86,22,'change_provideridentity','Can change provider identity');
INSERT INTO "auth_permission" VALUES(87,22,'delete_provideridentity','Can delete provider identity');
INSERT INTO "auth_permission" VALUES(88,22,'view_provideridentity','Can view provider identity');
INSERT INTO "auth_permission" VALUES(89,23,'add_secondfactor','Can add second factor');
INSERT INTO "auth_permission" VALUES(90,23,'change_secondfactor','Can change second factor');
INSERT INTO "auth_permission" VALUES(91,23,'delete_secondfactor','Can delete second factor');
INSERT INTO "auth_permission" VALUES(92,23,'view_secondfactor','Can view second factor');
INSERT INTO "auth_permission" VALUES(93,24,'add_snooze','Can add snooze');
INSERT INTO "auth_permission" VALUES(94,24,'change_snooze','Can change snooze');
INSERT INTO "auth_permission" VALUES(95,24,'delete_snooze','Can delete snooze');
INSERT INTO "auth_permission" VALUES(96,24,'view_snooze','Can view snooze');
INSERT INTO "auth_permission" VALUES(97,25,'add_standinghint','Can add standing hint');
INSERT INTO "auth_permission" VALUES(98,25,'change_standinghint','Can change standing hint');
INSERT INTO "auth_permission" VALUES(99,25,'delete_standinghint','Can delete standing hint');
INSERT INTO "auth_permission" VALUES(100,25,'view_standinghint','Can view standing hint');
INSERT INTO "auth_permission" VALUES(101,26,'add_summary','Can add summary');
INSERT INTO "auth_permission" VALUES(102,26,'change_summary','Can change summary');
INSERT INTO "auth_permission" VALUES(103,26,'delete_summary','Can delete summary');
INSERT INTO "auth_permission" VALUES(104,26,'view_summary','Can view summary');
INSERT INTO "auth_permission" VALUES(105,27,'add_toolversion','Can add tool version');
INSERT INTO "auth_permission" VALUES(106,27,'change_toolversion','Can change tool version');
INSERT INTO "auth_permission" VALUES(107,27,'delete_toolversion','Can delete tool version');
INSERT INTO "auth_permission" VALUES(108,27,'view_toolversion','Can view tool version');
INSERT INTO "auth_permission" VALUES(109,28,'add_webhookdelivery','Can add webhook delivery');
INSERT INTO "auth_permission" VALUES(110,28,'change_webhookdelivery','Can change webhook delivery');
INSERT INTO "auth_permission" VALUES(111,28,'delete_webhookdelivery','Can delete webhook delivery');
INSERT INTO "auth_permission" VALUES(112,28,'view_webhookdelivery','Can view webhook delivery');
INSERT INTO "auth_permission" VALUES(113,29,'add_webhookendpoint','Can add webhook endpoint');
INSERT INTO "auth_permission" VALUES(114,29,'change_webhookendpoint','Can change webhook endpoint');
INSERT INTO "auth_permission" VALUES(115,29,'delete_webhookendpoint','Can delete webhook endpoint');
INSERT INTO "auth_permission" VALUES(116,29,'view_webhookendpoint','Can view webhook endpoint');
INSERT INTO "auth_permission" VALUES(117,30,'add_channelturn','Can add channel turn');
INSERT INTO "auth_permission" VALUES(118,30,'change_channelturn','Can change channel turn');
INSERT INTO "auth_permission" VALUES(119,30,'delete_channelturn','Can delete channel turn');
INSERT INTO "auth_permission" VALUES(120,30,'view_channelturn','Can view channel turn');
INSERT INTO "auth_permission" VALUES(121,31,'add_logentry','Can add log entry');
INSERT INTO "auth_permission" VALUES(122,31,'change_logentry','Can change log entry');
INSERT INTO "auth_permission" VALUES(123,31,'delete_logentry','Can delete log entry');
INSERT INTO "auth_permission" VALUES(124,31,'view_logentry','Can view log entry');
INSERT INTO "auth_permission" VALUES(125,32,'add_permission','Can add permission');
INSERT INTO "auth_permission" VALUES(126,32,'change_permission','Can change permission');
INSERT INTO "auth_permission" VALUES(127,32,'delete_permission','Can delete permission');
INSERT INTO "auth_permission" VALUES(128,32,'view_permission','Can view permission');
INSERT INTO "auth_permission" VALUES(129,33,'add_group','Can add group');
INSERT INTO "auth_permission" VALUES(130,33,'change_group','Can change group');
INSERT INTO "auth_permission" VALUES(131,33,'delete_group','Can delete group');
INSERT INTO "auth_permission" VALUES(132,33,'view_group','Can view group');
INSERT INTO "auth_permission" VALUES(133,34,'add_user','Can add user');
INSERT INTO "auth_permission" VALUES(134,34,'change_user','Can change user');
INSERT INTO "auth_permission" VALUES(135,34,'delete_user','Can delete user');
INSERT INTO "auth_permission" VALUES(136,34,'view_user','Can view user');
INSERT INTO "auth_permission" VALUES(137,35,'add_contenttype','Can add content type');
INSERT INTO "auth_permission" VALUES(138,35,'change_contenttype','Can change content type');
INSERT INTO "auth_permission" VALUES(139,35,'delete_contenttype','Can delete content type');
INSERT INTO "auth_permission" VALUES(140,35,'view_contenttype','Can view content type');
INSERT INTO "auth_permission" VALUES(141,36,'add_session','Can add session');
INSERT INTO "auth_permission" VALUES(142,36,'change_session','Can change session');
INSERT INTO "auth_permission" VALUES(143,36,'delete_session','Can delete session');
INSERT INTO "auth_permission" VALUES(144,36,'view_session','Can view session');
CREATE TABLE "auth_user" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "password" varchar(128) NOT NULL, "last_login" datetime NULL, "is_superuser" bool NOT NULL, "username" varchar(150) NOT NULL UNIQUE, "last_name" varchar(150) NOT NULL, "email" varchar(254) NOT NULL, "is_staff" bool NOT NULL, "is_active" bool NOT NULL, "date_joined" datetime NOT NULL, "first_name" varchar(150) NOT NULL);
INSERT INTO "auth_user" VALUES(1,'md5$wZQmbQ93SjqyfcGgtVKmmI$a09ef2819ad221e7aa7e404221b3bb28',NULL,0,'mia','','',0,1,'2026-11-23 18:36:21.557974','');
INSERT INTO "auth_user" VALUES(2,'md5$U7vKlGhLSUTWGPvnaAyWxC$bf6aead3cee831e8379f435d9abc5a5f',NULL,0,'ada','','',1,1,'2026-11-23 18:36:21.604129','');
CREATE TABLE "auth_user_groups" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "user_id" integer NOT NULL REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED, "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED);
INSERT INTO "auth_user_groups" VALUES(1,1,1);
INSERT INTO "auth_user_groups" VALUES(2,2,2);
CREATE TABLE "auth_user_user_permissions" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "user_id" integer NOT NULL REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED, "permission_id" integer NOT NULL REFERENCES "auth_permission" ("id") DEFERRABLE INITIALLY DEFERRED);
INSERT INTO "auth_user_user_permissions" VALUES(1,2,36);
CREATE TABLE "django_admin_log" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "object_id" text NULL, "object_repr" varchar(200) NOT NULL, "action_flag" smallint unsigned NOT NULL CHECK ("action_flag" >= 0), "change_message" text NOT NULL, "content_type_id" integer NULL REFERENCES "django_content_type" ("id") DEFERRABLE INITIALLY DEFERRED, "user_id" integer NOT NULL REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED, "action_time" datetime NOT NULL);
CREATE TABLE "django_content_type" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "app_label" varchar(100) NOT NULL, "model" varchar(100) NOT NULL);
INSERT INTO "django_content_type" VALUES(1,'retrycontract','agent');
INSERT INTO "django_content_type" VALUES(2,'retrycontract','attempt');
INSERT INTO "django_content_type" VALUES(3,'retrycontract','outboxmessage');
INSERT INTO "django_content_type" VALUES(4,'retrycontract','tool');
INSERT INTO "django_content_type" VALUES(5,'retrycontract','workerbeat');
INSERT INTO "django_content_type" VALUES(6,'retrycontract','answerrecord');
INSERT INTO "django_content_type" VALUES(7,'retrycontract','apikey');
INSERT INTO "django_content_type" VALUES(8,'retrycontract','loggedresponse');
INSERT INTO "django_content_type" VALUES(9,'retrycontract','call');
INSERT INTO "django_content_type" VALUES(10,'retrycontract','escalation');
INSERT INTO "django_content_type" VALUES(11,'retrycontract','claim');
INSERT INTO "django_content_type" VALUES(12,'retrycontract','event');
INSERT INTO "django_content_type" VALUES(13,'retrycontract','failedlogins');
INSERT INTO "django_content_type" VALUES(14,'retrycontract','guidance');
INSERT INTO "django_content_type" VALUES(15,'retrycontract','guidanceversion');
INSERT INTO "django_content_type" VALUES(16,'retrycontract','heldanswer');
INSERT INTO "django_content_type" VALUES(17,'retrycontract','idempotencykey');
INSERT INTO "django_content_type" VALUES(18,'retrycontract','notice');
INSERT INTO "django_content_type" VALUES(19,'retrycontract','preferences');
INSERT INTO "django_content_type" VALUES(20,'retrycontract','rollup');
INSERT INTO "django_content_type" VALUES(21,'retrycontract','savedreply');
INSERT INTO "django_content_type" VALUES(22,'retrycontract','provideridentity');
INSERT INTO "django_content_type" VALUES(23,'retrycontract','secondfactor');
INSERT INTO "django_content_type" VALUES(24,'retrycontract','snooze');
INSERT INTO "django_content_type" VALUES(25,'retrycontract','standinghint');
INSERT INTO "django_content_type" VALUES(26,'retrycontract','summary');
INSERT INTO "django_content_type" VALUES(27,'retrycontract','toolversion');
INSERT INTO "django_content_type" VALUES(28,'retrycontract','webhookdelivery');
INSERT INTO "django_content_type" VALUES(29,'retrycontract','webhookendpoint');
INSERT INTO "django_content_type" VALUES(30,'retrycontract','channelturn');
INSERT INTO "django_content_type" VALUES(31,'admin','logentry');
INSERT INTO "django_content_type" VALUES(32,'auth','permission');
INSERT INTO "django_content_type" VALUES(33,'auth','group');
INSERT INTO "django_content_type" VALUES(34,'auth','user');
INSERT INTO "django_content_type" VALUES(35,'contenttypes','contenttype');
INSERT INTO "django_content_type" VALUES(36,'sessions','session');
CREATE TABLE "django_migrations" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "app" varchar(255) NOT NULL, "name" varchar(255) NOT NULL, "applied" datetime NOT NULL);
INSERT INTO "django_migrations" VALUES(1,'contenttypes','0001_initial','2026-11-23 18:36:18.364611');
INSERT INTO "django_migrations" VALUES(2,'auth','0001_initial','2026-11-23 18:36:18.385146');
INSERT INTO "django_migrations" VALUES(3,'admin','0001_initial','2026-11-23 18:36:18.400249');
INSERT INTO "django_migrations" VALUES(4,'admin','0002_logentry_remove_auto_add','2026-11-23 18:36:18.415985');
INSERT INTO "django_migrations" VALUES(5,'admin','0003_logentry_add_action_flag_choices','2026-11-23 18:36:18.422380');
INSERT INTO "django_migrations" VALUES(6,'contenttypes','0002_remove_content_type_name','2026-11-23 18:36:18.434911');
INSERT INTO "django_migrations" VALUES(7,'auth','0002_alter_permission_name_max_length','2026-11-23 18:36:18.444690');
INSERT INTO "django_migrations" VALUES(8,'auth','0003_alter_user_email_max_length','2026-11-23 18:36:18.457288');
INSERT INTO "django_migrations" VALUES(9,'auth','0004_alter_user_username_opts','2026-11-23 18:36:18.466545');
INSERT INTO "django_migrations" VALUES(10,'auth','0005_alter_user_last_login_null','2026-11-23 18:36:18.477022');
INSERT INTO "django_migrations" VALUES(11,'auth','0006_require_contenttypes_0002','2026-11-23 18:36:18.482792');
INSERT INTO "django_migrations" VALUES(12,'auth','0007_alter_validators_add_error_messages','2026-11-23 18:36:18.500536');
INSERT INTO "django_migrations" VALUES(13,'auth','0008_alter_user_username_max_length','2026-11-23 18:36:18.518959');
INSERT INTO "django_migrations" VALUES(14,'auth','0009_alter_user_last_name_max_length','2026-11-23 18:36:18.532083');
INSERT INTO "django_migrations" VALUES(15,'auth','0010_alter_group_name_max_length','2026-11-23 18:36:18.541876');
INSERT INTO "django_migrations" VALUES(16,'auth','0011_update_proxy_permissions','2026-11-23 18:36:18.550434');
INSERT INTO "django_migrations" VALUES(17,'auth','0012_alter_user_first_name_max_length','2026-11-23 18:36:18.561781');
INSERT INTO "django_migrations" VALUES(18,'retrycontract','0001_initial','2026-11-23 18:36:21.226534');
INSERT INTO "django_migrations" VALUES(19,'sessions','0001_initial','2026-11-23 18:36:21.236261');
CREATE TABLE "retrycontract_agent" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(200) NOT NULL UNIQUE, "namespace" varchar(200) NOT NULL, "created_at" datetime NOT NULL, "work_until" real NOT NULL, "work_seconds" real NOT NULL, "streamed_at" datetime NULL);
INSERT INTO "retrycontract_agent" VALUES(1,'deployer','deployer','2026-11-23 18:36:21.726680',1.79545898344902205468e+09,1.27112799999995473854e-03,NULL);
CREATE TABLE "retrycontract_answerrecord" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "namespace" varchar(200) NOT NULL, "tool_name" varchar(300) NOT NULL, "fingerprint" varchar(64) NOT NULL, "digest" varchar(64) NOT NULL, "decision" varchar(10) NOT NULL, "text" text NOT NULL, "patch" text NULL, "given" integer unsigned NOT NULL CHECK ("given" >= 0), "tried" integer unsigned NOT NULL CHECK ("tried" >= 0), "worked" integer unsigned NOT NULL CHECK ("worked" >= 0), "last_given_at" datetime NOT NULL, CONSTRAINT "answerrecord_unique" UNIQUE ("namespace", "tool_name", "fingerprint", "digest"), CONSTRAINT "answerrecord_is_tried" CHECK ("decision" IN ('hint', 'corrected')), CONSTRAINT "answerrecord_counts_fit" CHECK (("tried" <= ("given") AND "worked" <= ("tried"))));
INSERT INTO "retrycontract_answerrecord" VALUES(1,'deployer','deploy','af17787f077d6eee','febbd65d33d5d478b156d842d47bf7f2e8b9d4bc4c8dea528cc69c4d73bf0141','hint','Use eu-west-1.',NULL,1,0,0,'2026-11-23 18:36:23.170751');
INSERT INTO "retrycontract_answerrecord" VALUES(2,'deployer','deploy','af17787f077d6eee','5e96c36471e5818d9e5b0a4632cacd880acc4b7f99e1192c9eb35803dddb7d73','corrected','Use eu-west-1.','[{"op":"replace","path":"/region","value":"eu-west-1"}]',1,0,0,'2026-11-23 18:36:23.233669');
CREATE TABLE "retrycontract_apikey" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "prefix" varchar(16) NOT NULL, "digest" varchar(64) NOT NULL UNIQUE, "scopes" varchar(200) NOT NULL, "created_at" datetime NOT NULL, "expires_at" datetime NULL, "revoked_at" datetime NULL, "last_used_at" datetime NULL, "agent_id" bigint NOT NULL REFERENCES "retrycontract_agent" ("id") DEFERRABLE INITIALLY DEFERRED);
INSERT INTO "retrycontract_apikey" VALUES(1,'rc_10d3777f','3e91c61bef5e9ce7d10c92d6f173f3303d2107facb50e26459fa9c6d79dd2246','','2026-11-23 18:36:21.735225',NULL,NULL,NULL,1);
CREATE TABLE "retrycontract_attempt" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "number" integer unsigned NOT NULL CHECK ("number" >= 0), "state" varchar(10) NOT NULL, "tool_call_id" varchar(200) NOT NULL, "turn" bigint NULL, "traceparent" varchar(55) NULL, "submitted_at" datetime NOT NULL, "model" varchar(200) NULL, "prompt" text NULL, "said" text NULL, "tokens_in" integer unsigned NULL CHECK ("tokens_in" >= 0), "tokens_out" integer unsigned NULL CHECK ("tokens_out" >= 0), "seconds" real NULL, "finish_reason" varchar(200) NULL, "sealed" BLOB NULL, "is_dear" bool NOT NULL, "lease_token" varchar(40) NOT NULL, "lease_until" datetime NULL, "deliveries" smallint unsigned NOT NULL CHECK ("deliveries" >= 0), "judged_at" datetime NULL, "is_valid" bool NULL, "status" varchar(12) NOT NULL, "errors_json" text NOT NULL, "output" text NULL, "is_parsed" bool NOT NULL, "is_redacted" bool NOT NULL, "output_hash" varchar(64) NOT NULL, "feedback" text NOT NULL, "api_error" varchar(300) NULL, "shown_attempt" integer unsigned NOT NULL CHECK ("shown_attempt" >= 0), "shown_max" integer unsigned NOT NULL CHECK ("shown_max" >= 0), "fingerprint" varchar(64) NOT NULL, "duration_us" bigint unsigned NULL CHECK ("duration_us" >= 0), "call_id" bigint NOT NULL REFERENCES "retrycontract_call" ("id") DEFERRABLE INITIALLY DEFERRED, "standing_hint_id" bigint NULL REFERENCES "retrycontract_standinghint" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "attempt_unique_number" UNIQUE ("call_id", "number"), CONSTRAINT "attempt_state_known" CHECK ("state" IN ('queued', 'leased', 'judged', 'dead', 'discarded', 'unasked')), CONSTRAINT "attempt_sealed_until_judged" CHECK ((("sealed" IS NOT NULL AND "state" IN ('queued', 'leased')) OR (NOT ("state" IN ('queued', 'leased')) AND "sealed" IS NULL))), CONSTRAINT "attempt_judged_has_verdict" CHECK ((NOT ("state" = 'judged') OR ("is_valid" IS NOT NULL AND "judged_at" IS NOT NULL))));
INSERT INTO "retrycontract_attempt" VALUES(1,1,'judged','toolu_1',NULL,NULL,'2026-11-23 18:36:02.564028',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:36:02.564028',0,'retry','[{"error_code":"VAL-005","field_path":"/region","message":"Unknown field ''region''","severity":"error","expected_value":"one of the fields a, z","actual_value":null,"keyword":"additionalProperties","hint":null,"patch":[]},{"error_code":"VAL-005","field_path":"/service","message":"Unknown field ''service''","severity":"error","expected_value":"one of the fields a, z","actual_value":null,"keyword":"additionalProperties","hint":null,"patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''größe 🚀'' (attempt 1/3):

Errors:
• /region (VAL-005): Unknown field ''region''
  Expected: one of the fields a, z

• /service (VAL-005): Unknown field ''service''

Please remove ''region'' and ''service''.',NULL,1,3,'774a8793a305c5f4',793,1,NULL);
INSERT INTO "retrycontract_attempt" VALUES(2,2,'judged','toolu_3',NULL,NULL,'2026-11-23 18:36:22.564028',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:36:22.564028',0,'retry','[{"error_code":"VAL-005","field_path":"/region","message":"Unknown field ''region''","severity":"error","expected_value":"one of the fields a, z","actual_value":null,"keyword":"additionalProperties","hint":null,"patch":[]},{"error_code":"VAL-005","field_path":"/service","message":"Unknown field ''service''","severity":"error","expected_value":"one of the fields a, z","actual_value":null,"keyword":"additionalProperties","hint":null,"patch":[]}]','{"service":"web","region":"eu-west-1"}',1,0,'fbb8fe8921401215a152f67efc0454a1c630b099a7431c00a315daf97b4d4cdd','Validation failed for tool ''größe 🚀'' (attempt 2/3):

Errors:
• /region (VAL-005): Unknown field ''region''
  Expected: one of the fields a, z

• /service (VAL-005): Unknown field ''service''

Progress: none, the mistakes are the same as in attempt 1; take a different approach.

Please remove ''region'' and ''service''.

One attempt is left before a person is asked.',NULL,2,3,'774a8793a305c5f4',591,1,NULL);
INSERT INTO "retrycontract_attempt" VALUES(3,1,'judged','toolu_5',NULL,NULL,'2026-11-23 18:35:42.732899',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:35:42.732899',0,'retry','[{"error_code":"VAL-005","field_path":"/list","message":"Unknown field ''list''","severity":"error","expected_value":"one of the fields region, replicas, service","actual_value":null,"keyword":"additionalProperties","hint":null,"patch":[]},{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''12345678901234567890''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"12345678901234567890","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"a\nb","region":12345678901234567890,"list":[null,true,1.5,{}]}',1,0,'470cebd038bf533b538ad4a7ab5ca6d14d62dfcf0f0b65c2626fc7d8234bf2eb','Validation failed for tool ''deploy'' (attempt 1/3):

Errors:
• /list (VAL-005): Unknown field ''list''
  Expected: one of the fields region, replicas, service

• /region (VAL-008): Invalid enum value ''12345678901234567890''
  Expected: one of: eu-west-1, us-east-1
  Actual: 12345678901234567890

Please remove ''list'' and change ''region'' to one of the allowed values.',NULL,1,3,'803e11aca82f9075',6263,2,NULL);
INSERT INTO "retrycontract_attempt" VALUES(4,2,'judged','toolu_7',NULL,NULL,'2026-11-23 18:36:02.732899',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:36:02.732899',0,'retry','[{"error_code":"VAL-005","field_path":"/list","message":"Unknown field ''list''","severity":"error","expected_value":"one of the fields region, replicas, service","actual_value":null,"keyword":"additionalProperties","hint":null,"patch":[]},{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''12345678901234567890''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"12345678901234567890","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"a\nb","region":12345678901234567890,"list":[null,true,1.5,{}]}',1,0,'470cebd038bf533b538ad4a7ab5ca6d14d62dfcf0f0b65c2626fc7d8234bf2eb','Validation failed for tool ''deploy'' (attempt 2/3):

Errors:
• /list (VAL-005): Unknown field ''list''
  Expected: one of the fields region, replicas, service

• /region (VAL-008): Invalid enum value ''12345678901234567890''
  Expected: one of: eu-west-1, us-east-1
  Actual: 12345678901234567890

Progress: none, the mistakes are the same as in attempt 1; take a different approach.

Please remove ''list'' and change ''region'' to one of the allowed values.

One attempt is left before a person is asked.',NULL,2,3,'803e11aca82f9075',836,2,NULL);
INSERT INTO "retrycontract_attempt" VALUES(5,3,'judged','toolu_9',NULL,NULL,'2026-11-23 18:36:22.732899',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:36:22.732899',0,'blocked','[{"error_code":"VAL-005","field_path":"/list","message":"Unknown field ''list''","severity":"error","expected_value":"one of the fields region, replicas, service","actual_value":null,"keyword":"additionalProperties","hint":null,"patch":[]},{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''12345678901234567890''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"12345678901234567890","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"a\nb","region":12345678901234567890,"list":[null,true,1.5,{}]}',1,0,'470cebd038bf533b538ad4a7ab5ca6d14d62dfcf0f0b65c2626fc7d8234bf2eb','Validation failed for tool ''deploy'' (attempt 3/3):

Errors:
• /list (VAL-005): Unknown field ''list''
  Expected: one of the fields region, replicas, service

• /region (VAL-008): Invalid enum value ''12345678901234567890''
  Expected: one of: eu-west-1, us-east-1
  Actual: 12345678901234567890

This call is now Blocked: nothing was executed and a person has been asked for guidance. Do not retry it yourself; continue when guidance arrives.',NULL,3,3,'803e11aca82f9075',4597,2,NULL);
INSERT INTO "retrycontract_attempt" VALUES(6,1,'judged','toolu_11',NULL,NULL,'2026-11-23 18:36:23.106756',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:36:23.106756',0,'retry','[{"error_code":"VAL-004","field_path":"","message":"Invalid JSON: expecting value at line 1, column 11","severity":"error","expected_value":"one JSON value","actual_value":"{\"never\": \u2038parsed \\ud800","keyword":"syntax","hint":null,"patch":[]}]','"{\"never\": parsed \ud800"',0,0,'96f5e02d5625bf7c89ca5760790784b47087b789367a922f855d57922d2c437f','Validation failed for tool ''deploy'' (attempt 1/3):

• (root) (VAL-004): Invalid JSON: expecting value at line 1, column 11
  Expected: one JSON value
  Actual: {"never": ‸parsed \ud800

Please send one complete, valid JSON value and nothing else.',NULL,1,3,'3bb9160ad0d3b192',1242,3,NULL);
INSERT INTO "retrycontract_attempt" VALUES(7,1,'judged','toolu_13',NULL,NULL,'2026-11-23 18:35:43.116993',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:35:43.116993',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''deploy'' (attempt 1/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Please change ''region'' to one of the allowed values.',NULL,1,3,'af17787f077d6eee',443,4,NULL);
INSERT INTO "retrycontract_attempt" VALUES(8,2,'judged','toolu_15',NULL,NULL,'2026-11-23 18:36:03.116993',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:36:03.116993',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''deploy'' (attempt 2/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Progress: none, the mistake is the same as in attempt 1; take a different approach.

Please change ''region'' to one of the allowed values.

One attempt is left before a person is asked.',NULL,2,3,'af17787f077d6eee',417,4,NULL);
INSERT INTO "retrycontract_attempt" VALUES(9,3,'judged','toolu_17',NULL,NULL,'2026-11-23 18:36:23.116993',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:36:23.116993',0,'blocked','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''deploy'' (attempt 3/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

This call is now Blocked: nothing was executed and a person has been asked for guidance. Do not retry it yourself; continue when guidance arrives.',NULL,3,3,'af17787f077d6eee',379,4,NULL);
INSERT INTO "retrycontract_attempt" VALUES(10,1,'judged','toolu_19',NULL,NULL,'2026-11-23 18:35:43.186390',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:35:43.186390',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''deploy'' (attempt 1/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Please change ''region'' to one of the allowed values.',NULL,1,3,'af17787f077d6eee',389,5,NULL);
INSERT INTO "retrycontract_attempt" VALUES(11,2,'judged','toolu_21',NULL,NULL,'2026-11-23 18:36:03.186390',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:36:03.186390',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''deploy'' (attempt 2/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Progress: none, the mistake is the same as in attempt 1; take a different approach.

Please change ''region'' to one of the allowed values.

One attempt is left before a person is asked.',NULL,2,3,'af17787f077d6eee',347,5,NULL);
INSERT INTO "retrycontract_attempt" VALUES(12,3,'judged','toolu_23',NULL,NULL,'2026-11-23 18:36:23.186390',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:36:23.186390',0,'blocked','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''deploy'' (attempt 3/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

This call is now Blocked: nothing was executed and a person has been asked for guidance. Do not retry it yourself; continue when guidance arrives.',NULL,3,3,'af17787f077d6eee',2694,5,NULL);
INSERT INTO "retrycontract_attempt" VALUES(13,1,'judged','toolu_25',NULL,NULL,'2026-11-23 18:35:43.254520',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:35:43.254520',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''deploy'' (attempt 1/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Please change ''region'' to one of the allowed values.',NULL,1,3,'af17787f077d6eee',1006,6,NULL);
INSERT INTO "retrycontract_attempt" VALUES(14,2,'judged','toolu_27',NULL,NULL,'2026-11-23 18:36:03.254520',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:36:03.254520',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''deploy'' (attempt 2/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Progress: none, the mistake is the same as in attempt 1; take a different approach.

Please change ''region'' to one of the allowed values.

One attempt is left before a person is asked.',NULL,2,3,'af17787f077d6eee',372,6,NULL);
INSERT INTO "retrycontract_attempt" VALUES(15,3,'judged','toolu_29',NULL,NULL,'2026-11-23 18:36:23.254520',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:36:23.254520',0,'blocked','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''deploy'' (attempt 3/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

This call is now Blocked: nothing was executed and a person has been asked for guidance. Do not retry it yourself; continue when guidance arrives.',NULL,3,3,'af17787f077d6eee',392,6,NULL);
INSERT INTO "retrycontract_attempt" VALUES(16,1,'judged','toolu_31',NULL,NULL,'2026-11-23 18:35:43.308445',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:35:43.308445',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''deploy'' (attempt 1/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Please change ''region'' to one of the allowed values.',NULL,1,3,'af17787f077d6eee',377,7,NULL);
INSERT INTO "retrycontract_attempt" VALUES(17,2,'judged','toolu_33',NULL,NULL,'2026-11-23 18:36:03.308445',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:36:03.308445',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''deploy'' (attempt 2/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Progress: none, the mistake is the same as in attempt 1; take a different approach.

Please change ''region'' to one of the allowed values.

One attempt is left before a person is asked.',NULL,2,3,'af17787f077d6eee',349,7,NULL);
INSERT INTO "retrycontract_attempt" VALUES(18,3,'judged','toolu_35',NULL,NULL,'2026-11-23 18:36:23.308445',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:36:23.308445',0,'blocked','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''deploy'' (attempt 3/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

This call is now Blocked: nothing was executed and a person has been asked for guidance. Do not retry it yourself; continue when guidance arrives.',NULL,3,3,'af17787f077d6eee',328,7,NULL);
INSERT INTO "retrycontract_attempt" VALUES(19,1,'judged','toolu_37',NULL,NULL,'2026-11-23 18:36:23.476290',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:36:23.476290',1,'valid','[]','{"service":"web","region":"eu-west-1"}',1,0,'fbb8fe8921401215a152f67efc0454a1c630b099a7431c00a315daf97b4d4cdd','',NULL,1,3,'',147,8,NULL);
INSERT INTO "retrycontract_attempt" VALUES(20,1,'judged','toolu_39',NULL,NULL,'2026-11-23 18:36:23.500174',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-23 18:36:23.500174',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''deploy'' (attempt 1/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Please change ''region'' to one of the allowed values.

A person who has seen this mistake before says:
> Use eu-west-1.',NULL,1,3,'af17787f077d6eee',681,9,1);
INSERT INTO "retrycontract_attempt" VALUES(21,1,'judged','toolu_41',NULL,NULL,'2026-11-03 18:35:41.557799',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-03 18:35:41.557799',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''deploy'' (attempt 1/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Please change ''region'' to one of the allowed values.

A person who has seen this mistake before says:
> Use eu-west-1.',NULL,1,3,'af17787f077d6eee',390,10,1);
INSERT INTO "retrycontract_attempt" VALUES(22,2,'judged','toolu_43',NULL,NULL,'2026-11-03 18:36:01.557799',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-03 18:36:01.557799',0,'retry','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''deploy'' (attempt 2/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

Progress: none, the mistake is the same as in attempt 1; take a different approach.

Please change ''region'' to one of the allowed values.

One attempt is left before a person is asked.',NULL,2,3,'af17787f077d6eee',2080,10,NULL);
INSERT INTO "retrycontract_attempt" VALUES(23,3,'judged','toolu_45',NULL,NULL,'2026-11-03 18:36:21.557799',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL,0,'2026-11-03 18:36:21.557799',0,'blocked','[{"error_code":"VAL-008","field_path":"/region","message":"Invalid enum value ''europe''","severity":"error","expected_value":"one of: eu-west-1, us-east-1","actual_value":"\"europe\"","keyword":"enum","hint":"change ''region'' to one of the allowed values","patch":[]}]','{"service":"web","region":"europe"}',1,0,'abd02d75525a298c6e7808de810595125f1f6e63e6a37d7083ecfaf2a69299ac','Validation failed for tool ''deploy'' (attempt 3/3):

• /region (VAL-008): Invalid enum value ''europe''
  Expected: one of: eu-west-1, us-east-1
  Actual: "europe"

This call is now Blocked: nothing was executed and a person has been asked for guidance. Do not retry it yourself; continue when guidance arrives.',NULL,3,3,'af17787f077d6eee',615,10,NULL);
INSERT INTO "retrycontract_attempt" VALUES(24,1,'queued','toolu_47',NULL,NULL,'2026-11-23 18:36:23.640275',NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'67414141414142724249656E317158644369476238777050765F614936537434443456665037633041566A2D34444444504B45724B385A6F6659525861476D5752394A4B46683351586445616D43475A5A435939553275366B704561526B57326434595F4E7969734A6475754C53333973796A642D6D387A43386F73776963622D5939426E775F384D726967497545446B6552384B646B69592D753259306745574F5F444949313771323346526E3954616A4B506A74614A45506F6F6237516E4735504E3237544164676D306661532D61634C6174726C625F424F4F436A7977716B5037526F724161526C7A62357433636A506D614B7936325071464C6C5F306E304E39794F386572625272647055524C614636796572416B5256736B635941453045644155546253395147396275765468635A41634A50712D4A753043313936704F5F3948724E314457444A78504869713767434F36476D634A37386A713837536471416E75566B397555314F623554394C6C37347953683149794848764A746F2D2D6F3348742D683749726173303548755555304C52694753316B41624C4E673D3D',0,'',NULL,0,NULL,NULL,'','[]',NULL,0,0,'','',NULL,0,0,'',NULL,11,NULL);
CREATE TABLE "retrycontract_call" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "public_id" varchar(40) NOT NULL, "kind" varchar(20) NOT NULL, "tool_name" varchar(300) NOT NULL, "state" varchar(12) NOT NULL, "session_id" varchar(200) NULL, "task_id" varchar(200) NULL, "correlation_id" varchar(200) NULL, "last_turn" bigint NULL, "last_tool_call_id" varchar(200) NOT NULL, "model" varchar(200) NULL, "attempts_made" integer unsigned NOT NULL CHECK ("attempts_made" >= 0), "attempts_allowed" integer unsigned NOT NULL CHECK ("attempts_allowed" >= 0), "fingerprint" varchar(64) NOT NULL, "context" text NULL, "was_answered" bool NOT NULL, "created_at" datetime NOT NULL, "updated_at" datetime NOT NULL, "blocked_at" datetime NULL, "waited_at" datetime NULL, "expires_at" datetime NULL, "agent_id" bigint NOT NULL REFERENCES "retrycontract_agent" ("id") DEFERRABLE INITIALLY DEFERRED, "tool_id" bigint NULL REFERENCES "retrycontract_tool" ("id") DEFERRABLE INITIALLY DEFERRED, "version_id" bigint NULL REFERENCES "retrycontract_toolversion" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "call_state_known" CHECK ("state" IN ('pending', 'retrying', 'blocked', 'guided', 'valid', 'accepted', 'rejected', 'cancelled', 'expired', 'unavailable', 'observed')), CONSTRAINT "call_blocked_has_time" CHECK ((NOT ("state" = 'blocked') OR "blocked_at" IS NOT NULL)));
INSERT INTO "retrycontract_call" VALUES(1,'call_01m84v3rnm02tg4gtdz3ttjgtd','tool_call','größe 🚀','retrying','session-2',NULL,NULL,NULL,'toolu_3',NULL,2,3,'774a8793a305c5f4','{"goal":"\u202e\u007f ''quoted'' \"twice\" \\"}',0,'2026-11-23 18:36:02.564028','2026-11-23 18:36:22.564028',NULL,NULL,NULL,1,2,2);
INSERT INTO "retrycontract_call" VALUES(2,'call_01m84v3rtn5ss7wqq4ammq9b6v','tool_call','deploy','blocked','session-6',NULL,NULL,NULL,'toolu_9',NULL,3,3,'803e11aca82f9075',NULL,0,'2026-11-23 18:35:42.732899','2026-11-23 18:36:22.732899','2026-11-23 18:36:22.732899',NULL,'2026-11-30 18:36:22.732899',1,1,1);
INSERT INTO "retrycontract_call" VALUES(3,'call_01m84v3s641z4zrr907e6bz6wh','tool_call','deploy','retrying','session-12',NULL,NULL,NULL,'toolu_11',NULL,1,3,'3bb9160ad0d3b192',NULL,0,'2026-11-23 18:36:23.106756','2026-11-23 18:36:23.106756',NULL,NULL,NULL,1,1,1);
INSERT INTO "retrycontract_call" VALUES(4,'call_01m84v3s6eqcj0h6ky324gg93y','tool_call','deploy','guided','session-14',NULL,NULL,NULL,'toolu_17',NULL,3,5,'af17787f077d6eee',NULL,1,'2026-11-23 18:35:43.116993','2026-11-23 18:36:23.170751','2026-11-23 18:36:23.116993',NULL,NULL,1,1,1);
INSERT INTO "retrycontract_call" VALUES(5,'call_01m84v3s8ks6d5q6n62y512bs9','tool_call','deploy','guided','session-20',NULL,NULL,NULL,'toolu_23',NULL,3,4,'af17787f077d6eee',NULL,1,'2026-11-23 18:35:43.186390','2026-11-23 18:36:23.233669','2026-11-23 18:36:23.186390',NULL,NULL,1,1,1);
INSERT INTO "retrycontract_call" VALUES(6,'call_01m84v3sar9hyqjxd1w2ptqnfg','tool_call','deploy','accepted','session-26',NULL,NULL,NULL,'toolu_29',NULL,3,4,'af17787f077d6eee',NULL,1,'2026-11-23 18:35:43.254520','2026-11-23 18:36:23.294995','2026-11-23 18:36:23.254520',NULL,NULL,1,1,1);
INSERT INTO "retrycontract_call" VALUES(7,'call_01m84v3scdts4bnrjry1x66rbp','tool_call','deploy','rejected','session-32',NULL,NULL,NULL,'toolu_35',NULL,3,3,'af17787f077d6eee',NULL,1,'2026-11-23 18:35:43.308445','2026-11-23 18:36:23.351102','2026-11-23 18:36:23.308445',NULL,NULL,1,1,1);
INSERT INTO "retrycontract_call" VALUES(8,'call_01m84v3shs9ktrjnd697px0wcg','tool_call','deploy','valid','session-38',NULL,NULL,NULL,'toolu_37',NULL,1,3,'',NULL,0,'2026-11-23 18:36:23.476290','2026-11-23 18:36:23.476290',NULL,NULL,NULL,1,1,3);
INSERT INTO "retrycontract_call" VALUES(9,'call_01m84v3sjd61pd7jvsn52wwc4w','tool_call','deploy','cancelled','session-40',NULL,NULL,NULL,'toolu_39',NULL,1,3,'af17787f077d6eee',NULL,0,'2026-11-23 18:36:23.500174','2026-11-23 18:36:21.557799',NULL,NULL,NULL,1,1,3);
INSERT INTO "retrycontract_call" VALUES(10,'call_01m84v3sk97t65tnay20aqy3gs','tool_call','deploy','expired','session-42',NULL,NULL,NULL,'toolu_45',NULL,3,3,'af17787f077d6eee',NULL,0,'2026-11-03 18:35:41.557799','2026-11-23 18:36:21.557799','2026-11-03 18:36:21.557799',NULL,'2026-11-05 18:36:21.557800',1,1,3);
INSERT INTO "retrycontract_call" VALUES(11,'call_01m84v3sps96amdnfs56v2d5nm','tool_call','deploy','pending','session-48',NULL,NULL,NULL,'toolu_47',NULL,1,3,'',NULL,0,'2026-11-23 18:36:23.640275','2026-11-23 18:36:23.640275',NULL,NULL,NULL,1,1,3);
CREATE TABLE "retrycontract_channelturn" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "channel" varchar(10) NOT NULL, "free_at" datetime NOT NULL, "failures" integer unsigned NOT NULL CHECK ("failures" >= 0), "lease_token" varchar(40) NOT NULL, "lease_until" datetime NULL, "endpoint_id" bigint NULL UNIQUE REFERENCES "retrycontract_webhookendpoint" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "turn_channel_known" CHECK ("channel" IN ('webhook', 'email', 'endpoint')), CONSTRAINT "turn_of_an_endpoint" CHECK ((("channel" = 'endpoint' AND "endpoint_id" IS NOT NULL) OR (NOT ("channel" = 'endpoint') AND "endpoint_id" IS NULL))));
CREATE TABLE "retrycontract_claim" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "claimed_at" datetime NOT NULL, "until" datetime NOT NULL, "operator_id" integer NOT NULL REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED, "escalation_id" bigint NOT NULL UNIQUE REFERENCES "retrycontract_escalation" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "claim_ends_later" CHECK ("until" >= ("claimed_at")));
CREATE TABLE "retrycontract_escalation" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "public_id" varchar(40) NOT NULL UNIQUE, "round" integer unsigned NOT NULL CHECK ("round" >= 0), "state" varchar(10) NOT NULL, "text" text NOT NULL, "opened_at" datetime NOT NULL, "closed_at" datetime NULL, "call_id" bigint NOT NULL REFERENCES "retrycontract_call" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "escalation_unique_round" UNIQUE ("call_id", "round"), CONSTRAINT "escalation_state_known" CHECK ("state" IN ('open', 'answered', 'resolved', 'cancelled', 'expired')), CONSTRAINT "escalation_closed_has_time" CHECK ((("closed_at" IS NULL AND "state" = 'open') OR (NOT ("state" = 'open') AND "closed_at" IS NOT NULL))));
INSERT INTO "retrycontract_escalation" VALUES(1,'esc_01m84v3rw9h9yg6qaxx89qxpmy',1,'open','Tool ''deploy'' validation failed after 3 attempts.

Validation History:
Attempt 1 (just now): /list (VAL-005) Unknown field ''list''; /region (VAL-008) Invalid enum value ''12345678901234567890''
Attempt 2 (just now): /list (VAL-005) Unknown field ''list''; /region (VAL-008) Invalid enum value ''12345678901234567890''
Attempt 3 (just now): /list (VAL-005) Unknown field ''list''; /region (VAL-008) Invalid enum value ''12345678901234567890''

Original call:
  deploy {"service": "a\nb", "region": 12345678901234567890, "list": [null, true, 1.5, {}]}  (sanitised)
  id: toolu_5

Analysis:
- 6 errors in 3 attempts, 2 distinct codes, always on /list, /region
- 2 attempts repeated exactly the same mistakes as an earlier one

Recommended Actions:
1. The same mistake came back: say in a hint exactly what the field must hold, with an example.
2. Check whether the allowed values are complete, and name the right one.
3. Check whether the tool should take the unknown field; else name the right one.
4. Give a hint and grant further attempts.

The model was unable to provide valid arguments. Please intervene or provide guidance.','2026-11-23 18:36:22.732899',NULL,2);
INSERT INTO "retrycontract_escalation" VALUES(2,'esc_01m84v3s7q2arvtwytjd2v4x12',1,'answered','Tool ''deploy'' validation failed after 3 attempts.

Validation History:
Attempt 1 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 2 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 3 (just now): /region (VAL-008) Invalid enum value ''europe''

Original call:
  deploy {"service": "web", "region": "europe"}  (sanitised)
  id: toolu_13

Analysis:
- 3 errors in 3 attempts, 1 distinct code, always on /region
- 2 attempts repeated exactly the same mistakes as an earlier one

Recommended Actions:
1. The same mistake came back: say in a hint exactly what the field must hold, with an example.
2. Check whether the allowed values are complete, and name the right one.
3. Give a hint and grant further attempts.
4. Send corrected arguments, which are checked before they reach the agent.

The model was unable to provide valid arguments. Please intervene or provide guidance.','2026-11-23 18:36:23.116993','2026-11-23 18:36:23.170751',4);
INSERT INTO "retrycontract_escalation" VALUES(3,'esc_01m84v3s9j5dqtm3fga2yqma0a',1,'answered','Tool ''deploy'' validation failed after 3 attempts.

Validation History:
Attempt 1 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 2 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 3 (just now): /region (VAL-008) Invalid enum value ''europe''

Original call:
  deploy {"service": "web", "region": "europe"}  (sanitised)
  id: toolu_19

Analysis:
- 3 errors in 3 attempts, 1 distinct code, always on /region
- 2 attempts repeated exactly the same mistakes as an earlier one

Recommended Actions:
1. The same mistake came back: say in a hint exactly what the field must hold, with an example.
2. Check whether the allowed values are complete, and name the right one.
3. Give a hint and grant further attempts.
4. Send corrected arguments, which are checked before they reach the agent.

The model was unable to provide valid arguments. Please intervene or provide guidance.','2026-11-23 18:36:23.186390','2026-11-23 18:36:23.233669',5);
INSERT INTO "retrycontract_escalation" VALUES(4,'esc_01m84v3sbqkr5e9vpv4tgqbbmn',1,'answered','Tool ''deploy'' validation failed after 3 attempts.

Validation History:
Attempt 1 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 2 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 3 (just now): /region (VAL-008) Invalid enum value ''europe''

Original call:
  deploy {"service": "web", "region": "europe"}  (sanitised)
  id: toolu_25

Analysis:
- 3 errors in 3 attempts, 1 distinct code, always on /region
- 2 attempts repeated exactly the same mistakes as an earlier one

Recommended Actions:
1. The same mistake came back: say in a hint exactly what the field must hold, with an example.
2. Check whether the allowed values are complete, and name the right one.
3. Give a hint and grant further attempts.
4. Send corrected arguments, which are checked before they reach the agent.

The model was unable to provide valid arguments. Please intervene or provide guidance.','2026-11-23 18:36:23.254520','2026-11-23 18:36:23.294995',6);
INSERT INTO "retrycontract_escalation" VALUES(5,'esc_01m84v3sddvmkxsvpzd0ap0ty7',1,'answered','Tool ''deploy'' validation failed after 3 attempts.

Validation History:
Attempt 1 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 2 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 3 (just now): /region (VAL-008) Invalid enum value ''europe''

Original call:
  deploy {"service": "web", "region": "europe"}  (sanitised)
  id: toolu_31

Analysis:
- 3 errors in 3 attempts, 1 distinct code, always on /region
- 2 attempts repeated exactly the same mistakes as an earlier one

Recommended Actions:
1. The same mistake came back: say in a hint exactly what the field must hold, with an example.
2. Check whether the allowed values are complete, and name the right one.
3. Give a hint and grant further attempts.
4. Send corrected arguments, which are checked before they reach the agent.

The model was unable to provide valid arguments. Please intervene or provide guidance.','2026-11-23 18:36:23.308445','2026-11-23 18:36:23.351102',7);
INSERT INTO "retrycontract_escalation" VALUES(6,'esc_01m84v3smj8fyemt4ar0fxf2yn',1,'expired','Tool ''deploy'' validation failed after 3 attempts.

Validation History:
Attempt 1 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 2 (just now): /region (VAL-008) Invalid enum value ''europe''
Attempt 3 (just now): /region (VAL-008) Invalid enum value ''europe''

Original call:
  deploy {"service": "web", "region": "europe"}  (sanitised)
  id: toolu_41

Analysis:
- 3 errors in 3 attempts, 1 distinct code, always on /region
- 2 attempts repeated exactly the same mistakes as an earlier one

Recommended Actions:
1. The same mistake came back: say in a hint exactly what the field must hold, with an example.
2. Check whether the allowed values are complete, and name the right one.
3. Give a hint and grant further attempts.
4. Send corrected arguments, which are checked before they reach the agent.

The model was unable to provide valid arguments. Please intervene or provide guidance.','2026-11-03 18:36:21.557799','2026-11-23 18:36:21.557799',10);
CREATE TABLE "retrycontract_event" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "attempts_made" integer unsigned NULL CHECK ("attempts_made" >= 0), "name" varchar(40) NOT NULL, "actor" varchar(200) NOT NULL, "door" varchar(10) NOT NULL, "from_state" varchar(12) NOT NULL, "to_state" varchar(12) NOT NULL, "data" text NOT NULL, "at" datetime NOT NULL, "stored_at" datetime DEFAULT (STRFTIME('%Y-%m-%d %H:%M:%f', 'NOW')) NOT NULL, "agent_id" bigint NULL REFERENCES "retrycontract_agent" ("id") DEFERRABLE INITIALLY DEFERRED, "call_id" bigint NULL REFERENCES "retrycontract_call" ("id") DEFERRABLE INITIALLY DEFERRED);
INSERT INTO "retrycontract_event" VALUES(1,NULL,'tool.registered','deployer','api','','','{"tool":"deploy","namespace":"deployer","version":1,"changed":["hold"]}','2026-11-23 18:36:21.740678','2026-11-23 18:36:22.523',NULL,NULL);
INSERT INTO "retrycontract_event" VALUES(2,NULL,'tool.registered','deployer','api','','','{"tool":"gr\u00f6\u00dfe \ud83d\ude80","namespace":"deployer","version":1,"changed":["hold"]}','2026-11-23 18:36:22.536157','2026-11-23 18:36:22.557',NULL,NULL);
INSERT INTO "retrycontract_event" VALUES(3,1,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-005"]}','2026-11-23 18:36:02.564028','2026-11-23 18:36:22.595',1,1);
INSERT INTO "retrycontract_event" VALUES(4,2,'attempt.judged','deployer','api','retrying','retrying','{"attempt":2,"valid":false,"codes":["VAL-005"]}','2026-11-23 18:36:22.564028','2026-11-23 18:36:22.697',1,1);
INSERT INTO "retrycontract_event" VALUES(5,NULL,'endpoint.added','ada','command','','','{"endpoint":"ep_01m84v3rsvjje1a9qh3899debn","address":"https://x.example/\u2026","agent":"deployer","events":["call.blocked","call.resolved","call.expired","call.cancelled","guidance.given"]}','2026-11-23 18:36:22.714181','2026-11-23 18:36:22.720',NULL,NULL);
INSERT INTO "retrycontract_event" VALUES(6,1,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-005","VAL-008"]}','2026-11-23 18:35:42.732899','2026-11-23 18:36:22.743',1,2);
INSERT INTO "retrycontract_event" VALUES(7,2,'attempt.judged','deployer','api','retrying','retrying','{"attempt":2,"valid":false,"codes":["VAL-005","VAL-008"]}','2026-11-23 18:36:02.732899','2026-11-23 18:36:22.761',1,2);
INSERT INTO "retrycontract_event" VALUES(8,3,'attempt.judged','deployer','api','retrying','blocked','{"attempt":3,"valid":false,"codes":["VAL-005","VAL-008"]}','2026-11-23 18:36:22.732899','2026-11-23 18:36:22.785',1,2);
INSERT INTO "retrycontract_event" VALUES(9,3,'escalation.opened','deployer','api','','blocked','{"round":1}','2026-11-23 18:36:22.732899','2026-11-23 18:36:23.094',1,2);
INSERT INTO "retrycontract_event" VALUES(10,1,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-004"]}','2026-11-23 18:36:23.106756','2026-11-23 18:36:23.110',1,3);
INSERT INTO "retrycontract_event" VALUES(11,1,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-008"]}','2026-11-23 18:35:43.116993','2026-11-23 18:36:23.119',1,4);
INSERT INTO "retrycontract_event" VALUES(12,2,'attempt.judged','deployer','api','retrying','retrying','{"attempt":2,"valid":false,"codes":["VAL-008"]}','2026-11-23 18:36:03.116993','2026-11-23 18:36:23.138',1,4);
INSERT INTO "retrycontract_event" VALUES(13,3,'attempt.judged','deployer','api','retrying','blocked','{"attempt":3,"valid":false,"codes":["VAL-008"]}','2026-11-23 18:36:23.116993','2026-11-23 18:36:23.156',1,4);
INSERT INTO "retrycontract_event" VALUES(14,3,'escalation.opened','deployer','api','','blocked','{"round":1}','2026-11-23 18:36:23.116993','2026-11-23 18:36:23.161',1,4);
INSERT INTO "retrycontract_event" VALUES(15,3,'guidance.given','mia','dashboard','blocked','guided','{"decision":"hint","granted":2,"late":false}','2026-11-23 18:36:23.170751','2026-11-23 18:36:23.179',1,4);
INSERT INTO "retrycontract_event" VALUES(16,1,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-008"]}','2026-11-23 18:35:43.186390','2026-11-23 18:36:23.188',1,5);
INSERT INTO "retrycontract_event" VALUES(17,2,'attempt.judged','deployer','api','retrying','retrying','{"attempt":2,"valid":false,"codes":["VAL-008"]}','2026-11-23 18:36:03.186390','2026-11-23 18:36:23.201',1,5);
INSERT INTO "retrycontract_event" VALUES(18,3,'attempt.judged','deployer','api','retrying','blocked','{"attempt":3,"valid":false,"codes":["VAL-008"]}','2026-11-23 18:36:23.186390','2026-11-23 18:36:23.214',1,5);
INSERT INTO "retrycontract_event" VALUES(19,3,'escalation.opened','deployer','api','','blocked','{"round":1}','2026-11-23 18:36:23.186390','2026-11-23 18:36:23.219',1,5);
INSERT INTO "retrycontract_event" VALUES(20,3,'guidance.given','mia','dashboard','blocked','guided','{"decision":"corrected","granted":1,"late":false}','2026-11-23 18:36:23.233669','2026-11-23 18:36:23.239',1,5);
INSERT INTO "retrycontract_event" VALUES(21,1,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-008"]}','2026-11-23 18:35:43.254520','2026-11-23 18:36:23.257',1,6);
INSERT INTO "retrycontract_event" VALUES(22,2,'attempt.judged','deployer','api','retrying','retrying','{"attempt":2,"valid":false,"codes":["VAL-008"]}','2026-11-23 18:36:03.254520','2026-11-23 18:36:23.274',1,6);
INSERT INTO "retrycontract_event" VALUES(23,3,'attempt.judged','deployer','api','retrying','blocked','{"attempt":3,"valid":false,"codes":["VAL-008"]}','2026-11-23 18:36:23.254520','2026-11-23 18:36:23.284',1,6);
INSERT INTO "retrycontract_event" VALUES(24,3,'escalation.opened','deployer','api','','blocked','{"round":1}','2026-11-23 18:36:23.254520','2026-11-23 18:36:23.288',1,6);
INSERT INTO "retrycontract_event" VALUES(25,3,'guidance.given','mia','dashboard','blocked','accepted','{"decision":"accept","granted":1,"late":false}','2026-11-23 18:36:23.294995','2026-11-23 18:36:23.299',1,6);
INSERT INTO "retrycontract_event" VALUES(26,1,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-008"]}','2026-11-23 18:35:43.308445','2026-11-23 18:36:23.310',1,7);
INSERT INTO "retrycontract_event" VALUES(27,2,'attempt.judged','deployer','api','retrying','retrying','{"attempt":2,"valid":false,"codes":["VAL-008"]}','2026-11-23 18:36:03.308445','2026-11-23 18:36:23.322',1,7);
INSERT INTO "retrycontract_event" VALUES(28,3,'attempt.judged','deployer','api','retrying','blocked','{"attempt":3,"valid":false,"codes":["VAL-008"]}','2026-11-23 18:36:23.308445','2026-11-23 18:36:23.332',1,7);
INSERT INTO "retrycontract_event" VALUES(29,3,'escalation.opened','deployer','api','','blocked','{"round":1}','2026-11-23 18:36:23.308445','2026-11-23 18:36:23.343',1,7);
INSERT INTO "retrycontract_event" VALUES(30,3,'guidance.given','mia','dashboard','blocked','rejected','{"decision":"reject","granted":0,"late":false}','2026-11-23 18:36:23.351102','2026-11-23 18:36:23.363',1,7);
INSERT INTO "retrycontract_event" VALUES(31,3,'call.snoozed','mia','dashboard','','blocked','{"until":"2026-11-23T19:36:23.376119+00:00","reason":"\\u202e"}','2026-11-23 18:36:23.376119','2026-11-23 18:36:23.409',1,2);
INSERT INTO "retrycontract_event" VALUES(32,NULL,'hint.set','mia','dashboard','','','{"hint":1,"namespace":"deployer","tool":"deploy","fingerprint":"af17787f077d6eee","expires_at":"2026-12-23T18:36:23.376119+00:00"}','2026-11-23 18:36:23.376119','2026-11-23 18:36:23.419',NULL,NULL);
INSERT INTO "retrycontract_event" VALUES(33,NULL,'reply.added','mia','dashboard','','','{"title":"Region \ud83d\ude80","shared":false,"position":1}','2026-11-23 18:36:23.376119','2026-11-23 18:36:23.430',NULL,NULL);
INSERT INTO "retrycontract_event" VALUES(34,NULL,'tool.registered','deployer','api','','','{"tool":"deploy","namespace":"deployer","version":2,"changed":[]}','2026-11-23 18:36:23.448989','2026-11-23 18:36:23.470',NULL,NULL);
INSERT INTO "retrycontract_event" VALUES(35,1,'attempt.judged','deployer','api','pending','valid','{"attempt":1,"valid":true,"codes":[]}','2026-11-23 18:36:23.476290','2026-11-23 18:36:23.482',1,8);
INSERT INTO "retrycontract_event" VALUES(36,1,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-008"]}','2026-11-23 18:36:23.500174','2026-11-23 18:36:23.503',1,9);
INSERT INTO "retrycontract_event" VALUES(37,1,'call.cancelled','deployer','api','retrying','cancelled','{}','2026-11-23 18:36:21.557799','2026-11-23 18:36:23.519',1,9);
INSERT INTO "retrycontract_event" VALUES(38,1,'attempt.judged','deployer','api','pending','retrying','{"attempt":1,"valid":false,"codes":["VAL-008"]}','2026-11-03 18:35:41.557799','2026-11-23 18:36:23.531',1,10);
INSERT INTO "retrycontract_event" VALUES(39,2,'attempt.judged','deployer','api','retrying','retrying','{"attempt":2,"valid":false,"codes":["VAL-008"]}','2026-11-03 18:36:01.557799','2026-11-23 18:36:23.550',1,10);
INSERT INTO "retrycontract_event" VALUES(40,3,'attempt.judged','deployer','api','retrying','blocked','{"attempt":3,"valid":false,"codes":["VAL-008"]}','2026-11-03 18:36:21.557799','2026-11-23 18:36:23.567',1,10);
INSERT INTO "retrycontract_event" VALUES(41,3,'escalation.opened','deployer','api','','blocked','{"round":1}','2026-11-03 18:36:21.557799','2026-11-23 18:36:23.579',1,10);
INSERT INTO "retrycontract_event" VALUES(42,3,'call.expired','sweep','worker','blocked','expired','{"on_expiry":"expire"}','2026-11-23 18:36:21.557799','2026-11-23 18:36:23.591',1,10);
INSERT INTO "retrycontract_event" VALUES(43,1,'attempt.queued','deployer','api','pending','pending','{"attempt":1}','2026-11-23 18:36:23.640275','2026-11-23 18:36:23.642',1,11);
CREATE TABLE "retrycontract_failedlogins" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "key_hash" varchar(64) NOT NULL UNIQUE, "begun" integer unsigned NOT NULL CHECK ("begun" >= 0), "begun_at" datetime NULL, "failures" integer unsigned NOT NULL CHECK ("failures" >= 0), "last_at" datetime NOT NULL, "locked_until" datetime NULL, "operator_id" integer NULL REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "failedlogins_locked_has_failures" CHECK (("locked_until" IS NULL OR "failures" > 0)));
INSERT INTO "retrycontract_failedlogins" VALUES(1,'0319efb4f5502f6e8485ebd1713c489981c5b3b8ab1c2ca0dc44e035eea3419d',1,'2026-11-23 18:36:21.557799',0,'2026-11-23 18:36:21.557799',NULL,NULL);
INSERT INTO "retrycontract_failedlogins" VALUES(2,'79d23f0149ca81e860efa0c9104688079789af3051a4bbf9d4c1f6942edf26c9',1,'2026-11-23 18:36:21.557799',0,'2026-11-23 18:36:21.557799',NULL,NULL);
INSERT INTO "retrycontract_failedlogins" VALUES(3,'f1dff7c2aa4beb16a7f8d707671a64552118294d55642e31ec3827238dfd65b7',1,'2026-11-23 18:36:21.557799',0,'2026-11-23 18:36:21.557799',NULL,NULL);
CREATE TABLE retrycontract_forgetting (one INTEGER PRIMARY KEY CHECK (one = 1));
CREATE TABLE "retrycontract_guidance" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "decision" varchar(10) NOT NULL, "text" text NOT NULL, "arguments" text NULL, "patch" text NULL, "granted" smallint unsigned NOT NULL CHECK ("granted" >= 0), "rendered" text NOT NULL, "given_at" datetime NOT NULL, "delivered_at" datetime NULL, "acknowledged_at" datetime NULL, "next_valid" bool NULL, "base_id" bigint NULL REFERENCES "retrycontract_attempt" ("id") DEFERRABLE INITIALLY DEFERRED, "call_id" bigint NOT NULL REFERENCES "retrycontract_call" ("id") DEFERRABLE INITIALLY DEFERRED, "escalation_id" bigint NOT NULL UNIQUE REFERENCES "retrycontract_escalation" ("id") DEFERRABLE INITIALLY DEFERRED, "operator_id" integer NOT NULL REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED, "record_id" bigint NULL REFERENCES "retrycontract_answerrecord" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "guidance_decision_known" CHECK ("decision" IN ('hint', 'corrected', 'accept', 'reject')), CONSTRAINT "guidance_grant_range" CHECK ("granted" BETWEEN 0 AND 5));
INSERT INTO "retrycontract_guidance" VALUES(1,'hint','Use eu-west-1.',NULL,NULL,2,'A person answered your Blocked call of tool ''deploy'':

> Use eu-west-1.

Nothing was executed so far. Correct the arguments and call the tool again: this is attempt 4/5, 2 are left.','2026-11-23 18:36:23.170751',NULL,NULL,NULL,9,4,2,1,1);
INSERT INTO "retrycontract_guidance" VALUES(2,'corrected','Use eu-west-1.','{"service":"web","region":"eu-west-1"}',NULL,1,'A person corrected the arguments of your Blocked call of tool ''deploy''.

Send exactly these:
{"service": "web", "region": "eu-west-1"}

> Use eu-west-1.

They replace your earlier call, which was not executed: do not send that one again. Call the tool with the corrected arguments now: this is attempt 4/4.','2026-11-23 18:36:23.233669',NULL,NULL,NULL,12,5,3,1,2);
INSERT INTO "retrycontract_guidance" VALUES(3,'accept','Use eu-west-1.',NULL,NULL,1,'A person accepted your arguments of attempt 3 for tool ''deploy'' as they are:

> Use eu-west-1.

Run the tool with exactly those arguments.','2026-11-23 18:36:23.294995',NULL,NULL,NULL,15,6,4,1,NULL);
INSERT INTO "retrycontract_guidance" VALUES(4,'reject','Use eu-west-1.',NULL,NULL,0,'A person rejected your call of tool ''deploy'':

> Use eu-west-1.

Nothing was executed. Do not try this call again; stop, or take another way.','2026-11-23 18:36:23.351102',NULL,NULL,NULL,18,7,5,1,NULL);
CREATE TABLE "retrycontract_guidanceversion" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "stage" varchar(10) NOT NULL, "text" text NOT NULL, "arguments" text NULL, "patch" text NULL, "at" datetime NOT NULL, "guidance_id" bigint NOT NULL REFERENCES "retrycontract_guidance" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "guidanceversion_one_each" UNIQUE ("guidance_id", "stage"), CONSTRAINT "guidanceversion_stage_known" CHECK ("stage" IN ('proposed', 'edited', 'delivered')));
INSERT INTO "retrycontract_guidanceversion" VALUES(1,'edited','Use eu-west-1.',NULL,NULL,'2026-11-23 18:36:23.170751',1);
INSERT INTO "retrycontract_guidanceversion" VALUES(2,'edited','Use eu-west-1.','{"service":"web","region":"eu-west-1"}',NULL,'2026-11-23 18:36:23.233669',2);
INSERT INTO "retrycontract_guidanceversion" VALUES(3,'edited','Use eu-west-1.',NULL,NULL,'2026-11-23 18:36:23.294995',3);
INSERT INTO "retrycontract_guidanceversion" VALUES(4,'edited','Use eu-west-1.',NULL,NULL,'2026-11-23 18:36:23.351102',4);
CREATE TABLE "retrycontract_heldanswer" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "batch" varchar(40) NOT NULL, "decision" varchar(10) NOT NULL, "text" text NOT NULL, "arguments" text NULL, "grant" smallint unsigned NOT NULL CHECK ("grant" >= 0), "base_number" integer unsigned NULL CHECK ("base_number" >= 0), "stands_days" smallint unsigned NULL CHECK ("stands_days" >= 0), "rendered" text NOT NULL, "held_at" datetime NOT NULL, "send_at" datetime NOT NULL, "call_id" bigint NOT NULL REFERENCES "retrycontract_call" ("id") DEFERRABLE INITIALLY DEFERRED, "escalation_id" bigint NOT NULL UNIQUE REFERENCES "retrycontract_escalation" ("id") DEFERRABLE INITIALLY DEFERRED, "operator_id" integer NOT NULL REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "heldanswer_sent_later" CHECK ("send_at" > ("held_at")), CONSTRAINT "heldanswer_decision_known" CHECK ("decision" IN ('hint', 'corrected', 'accept', 'reject')));
INSERT INTO "retrycontract_heldanswer" VALUES(1,'b','corrected','','{"a":[1.5,null]}',1,NULL,7,'‮','2026-11-23 18:36:23.376119','2026-12-23 18:36:23.376119',2,1,1);
CREATE TABLE "retrycontract_idempotencykey" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "key_hash" varchar(64) NOT NULL, "request_hash" varchar(64) NOT NULL, "answer" text NULL, "created_at" datetime NOT NULL, "agent_id" bigint NOT NULL REFERENCES "retrycontract_agent" ("id") DEFERRABLE INITIALLY DEFERRED, "attempt_id" bigint NULL REFERENCES "retrycontract_attempt" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "idempotency_key_unique" UNIQUE ("agent_id", "key_hash"), CONSTRAINT "idempotency_key_has_answer" CHECK (("attempt_id" IS NOT NULL OR "answer" IS NOT NULL)));
INSERT INTO "retrycontract_idempotencykey" VALUES(1,'e78f7965c58c2011327e619689878676cfd8f64a9ca265dc3cae035cad94da18','fcdb3fee3c2a365f79754cc6ab5bf5ce6192b9ef02fc34d21e164017b476faa2','{"made":"once"}','2026-11-23 18:36:21.557799',1,NULL);
CREATE TABLE "retrycontract_notice" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "channel" varchar(10) NOT NULL, "created_at" datetime NOT NULL, "escalation_id" bigint NOT NULL REFERENCES "retrycontract_escalation" ("id") DEFERRABLE INITIALLY DEFERRED, "message_id" bigint NULL REFERENCES "retrycontract_outboxmessage" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "notice_unique" UNIQUE ("escalation_id", "channel"), CONSTRAINT "notice_channel_known" CHECK ("channel" IN ('webhook', 'email')));
INSERT INTO "retrycontract_notice" VALUES(1,'email','2026-11-23 18:36:23.376119',1,10);
CREATE TABLE "retrycontract_outboxmessage" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "public_id" varchar(40) NOT NULL UNIQUE, "channel" varchar(10) NOT NULL, "due_at" datetime NULL, "subject" varchar(300) NOT NULL, "text" text NOT NULL, "created_at" datetime NOT NULL, "tries" integer unsigned NOT NULL CHECK ("tries" >= 0), "last_tried_at" datetime NULL, "last_error" varchar(200) NOT NULL, "delivered_at" datetime NULL, "given_up_at" datetime NULL, "endpoint_id" bigint NULL REFERENCES "retrycontract_webhookendpoint" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "outbox_channel_known" CHECK ("channel" IN ('webhook', 'email', 'endpoint')), CONSTRAINT "outbox_one_end" CHECK (("delivered_at" IS NULL OR "given_up_at" IS NULL)), CONSTRAINT "outbox_endpoint_has_time" CHECK ((("channel" = 'endpoint' AND "endpoint_id" IS NOT NULL AND "due_at" IS NOT NULL) OR (NOT ("channel" = 'endpoint') AND "endpoint_id" IS NULL AND "due_at" IS NULL))));
INSERT INTO "retrycontract_outboxmessage" VALUES(1,'msg_01m84v3s5nt0k6apx96v4ezq6x','endpoint','2026-11-23 18:36:22.732899','call.blocked','{"type":"call.blocked","timestamp":"2026-11-23T18:36:22.732Z","data":{"call_id":"call_01m84v3rtn5ss7wqq4ammq9b6v","agent":"deployer","tool":"deploy","tool_call_id":"toolu_9","session_id":"session-6","task_id":null,"correlation_id":null,"state":"blocked","attempts":3,"round":1,"links":{"self":"/api/v1/calls/call_01m84v3rtn5ss7wqq4ammq9b6v","guidance":"/api/v1/calls/call_01m84v3rtn5ss7wqq4ammq9b6v/guidance","desk":"/calls/call_01m84v3rtn5ss7wqq4ammq9b6v/"}}}','2026-11-23 18:36:22.732899',0,NULL,'',NULL,NULL,1);
INSERT INTO "retrycontract_outboxmessage" VALUES(2,'msg_01m84v3s7rjdfexy2xn3dmyk5p','endpoint','2026-11-23 18:36:23.116993','call.blocked','{"type":"call.blocked","timestamp":"2026-11-23T18:36:23.116Z","data":{"call_id":"call_01m84v3s6eqcj0h6ky324gg93y","agent":"deployer","tool":"deploy","tool_call_id":"toolu_17","session_id":"session-14","task_id":null,"correlation_id":null,"state":"blocked","attempts":3,"round":1,"links":{"self":"/api/v1/calls/call_01m84v3s6eqcj0h6ky324gg93y","guidance":"/api/v1/calls/call_01m84v3s6eqcj0h6ky324gg93y/guidance","desk":"/calls/call_01m84v3s6eqcj0h6ky324gg93y/"}}}','2026-11-23 18:36:23.116993',0,NULL,'',NULL,NULL,1);
INSERT INTO "retrycontract_outboxmessage" VALUES(3,'msg_01m84v3s8dtfmqqg0hx7kqy5gn','endpoint','2026-11-23 18:36:23.170751','guidance.given','{"type":"guidance.given","timestamp":"2026-11-23T18:36:23.170Z","data":{"call_id":"call_01m84v3s6eqcj0h6ky324gg93y","agent":"deployer","tool":"deploy","tool_call_id":"toolu_17","session_id":"session-14","task_id":null,"correlation_id":null,"state":"guided","attempts":3,"decision":"hint","granted":2,"links":{"self":"/api/v1/calls/call_01m84v3s6eqcj0h6ky324gg93y","guidance":"/api/v1/calls/call_01m84v3s6eqcj0h6ky324gg93y/guidance","desk":"/calls/call_01m84v3s6eqcj0h6ky324gg93y/"}}}','2026-11-23 18:36:23.170751',0,NULL,'',NULL,NULL,1);
INSERT INTO "retrycontract_outboxmessage" VALUES(4,'msg_01m84v3s9k5cqedx0npbd2hsbr','endpoint','2026-11-23 18:36:23.186390','call.blocked','{"type":"call.blocked","timestamp":"2026-11-23T18:36:23.186Z","data":{"call_id":"call_01m84v3s8ks6d5q6n62y512bs9","agent":"deployer","tool":"deploy","tool_call_id":"toolu_23","session_id":"session-20","task_id":null,"correlation_id":null,"state":"blocked","attempts":3,"round":1,"links":{"self":"/api/v1/calls/call_01m84v3s8ks6d5q6n62y512bs9","guidance":"/api/v1/calls/call_01m84v3s8ks6d5q6n62y512bs9/guidance","desk":"/calls/call_01m84v3s8ks6d5q6n62y512bs9/"}}}','2026-11-23 18:36:23.186390',0,NULL,'',NULL,NULL,1);
INSERT INTO "retrycontract_outboxmessage" VALUES(5,'msg_01m84v3sadpsyk80k02cq11wee','endpoint','2026-11-23 18:36:23.233669','guidance.given','{"type":"guidance.given","timestamp":"2026-11-23T18:36:23.233Z","data":{"call_id":"call_01m84v3s8ks6d5q6n62y512bs9","agent":"deployer","tool":"deploy","tool_call_id":"toolu_23","session_id":"session-20","task_id":null,"correlation_id":null,"state":"guided","attempts":3,"decision":"corrected","granted":1,"links":{"self":"/api/v1/calls/call_01m84v3s8ks6d5q6n62y512bs9","guidance":"/api/v1/calls/call_01m84v3s8ks6d5q6n62y512bs9/guidance","desk":"/calls/call_01m84v3s8ks6d5q6n62y512bs9/"}}}','2026-11-23 18:36:23.233669',0,NULL,'',NULL,NULL,1);
INSERT INTO "retrycontract_outboxmessage" VALUES(6,'msg_01m84v3sbrm6yd474216ryhe0j','endpoint','2026-11-23 18:36:23.254520','call.blocked','{"type":"call.blocked","timestamp":"2026-11-23T18:36:23.254Z","data":{"call_id":"call_01m84v3sar9hyqjxd1w2ptqnfg","agent":"deployer","tool":"deploy","tool_call_id":"toolu_29","session_id":"session-26","task_id":null,"correlation_id":null,"state":"blocked","attempts":3,"round":1,"links":{"self":"/api/v1/calls/call_01m84v3sar9hyqjxd1w2ptqnfg","guidance":"/api/v1/calls/call_01m84v3sar9hyqjxd1w2ptqnfg/guidance","desk":"/calls/call_01m84v3sar9hyqjxd1w2ptqnfg/"}}}','2026-11-23 18:36:23.254520',0,NULL,'',NULL,NULL,1);
INSERT INTO "retrycontract_outboxmessage" VALUES(7,'msg_01m84v3sc625bjc3qhyh2m0r99','endpoint','2026-11-23 18:36:23.294995','guidance.given','{"type":"guidance.given","timestamp":"2026-11-23T18:36:23.294Z","data":{"call_id":"call_01m84v3sar9hyqjxd1w2ptqnfg","agent":"deployer","tool":"deploy","tool_call_id":"toolu_29","session_id":"session-26","task_id":null,"correlation_id":null,"state":"accepted","attempts":3,"decision":"accept","granted":1,"links":{"self":"/api/v1/calls/call_01m84v3sar9hyqjxd1w2ptqnfg","guidance":"/api/v1/calls/call_01m84v3sar9hyqjxd1w2ptqnfg/guidance","desk":"/calls/call_01m84v3sar9hyqjxd1w2ptqnfg/"}}}','2026-11-23 18:36:23.294995',0,NULL,'',NULL,NULL,1);
INSERT INTO "retrycontract_outboxmessage" VALUES(8,'msg_01m84v3sdevk0p0ngedfyfvprr','endpoint','2026-11-23 18:36:23.308445','call.blocked','{"type":"call.blocked","timestamp":"2026-11-23T18:36:23.308Z","data":{"call_id":"call_01m84v3scdts4bnrjry1x66rbp","agent":"deployer","tool":"deploy","tool_call_id":"toolu_35","session_id":"session-32","task_id":null,"correlation_id":null,"state":"blocked","attempts":3,"round":1,"links":{"self":"/api/v1/calls/call_01m84v3scdts4bnrjry1x66rbp","guidance":"/api/v1/calls/call_01m84v3scdts4bnrjry1x66rbp/guidance","desk":"/calls/call_01m84v3scdts4bnrjry1x66rbp/"}}}','2026-11-23 18:36:23.308445',0,NULL,'',NULL,NULL,1);
INSERT INTO "retrycontract_outboxmessage" VALUES(9,'msg_01m84v3se5260ygj4xcqw6mben','endpoint','2026-11-23 18:36:23.351102','guidance.given','{"type":"guidance.given","timestamp":"2026-11-23T18:36:23.351Z","data":{"call_id":"call_01m84v3scdts4bnrjry1x66rbp","agent":"deployer","tool":"deploy","tool_call_id":"toolu_35","session_id":"session-32","task_id":null,"correlation_id":null,"state":"rejected","attempts":3,"decision":"reject","granted":0,"links":{"self":"/api/v1/calls/call_01m84v3scdts4bnrjry1x66rbp","guidance":"/api/v1/calls/call_01m84v3scdts4bnrjry1x66rbp/guidance","desk":"/calls/call_01m84v3scdts4bnrjry1x66rbp/"}}}','2026-11-23 18:36:23.351102',0,NULL,'',NULL,NULL,1);
INSERT INTO "retrycontract_outboxmessage" VALUES(10,'msg_01m84v3segfne5es5c222c1hnm','email',NULL,'s','t‮','2026-11-23 18:36:23.376119',0,NULL,'',NULL,NULL,NULL);
INSERT INTO "retrycontract_outboxmessage" VALUES(11,'msg_01m84v3sk0gfrtc4996sg2d0yt','endpoint','2026-11-23 18:36:21.557799','call.cancelled','{"type":"call.cancelled","timestamp":"2026-11-23T18:36:21.557Z","data":{"call_id":"call_01m84v3sjd61pd7jvsn52wwc4w","agent":"deployer","tool":"deploy","tool_call_id":"toolu_39","session_id":"session-40","task_id":null,"correlation_id":null,"state":"cancelled","attempts":1,"links":{"self":"/api/v1/calls/call_01m84v3sjd61pd7jvsn52wwc4w","guidance":"/api/v1/calls/call_01m84v3sjd61pd7jvsn52wwc4w/guidance","desk":"/calls/call_01m84v3sjd61pd7jvsn52wwc4w/"}}}','2026-11-23 18:36:21.557799',0,NULL,'',NULL,NULL,1);
INSERT INTO "retrycontract_outboxmessage" VALUES(12,'msg_01m84v3smk7v17mnsr1d7s0k2z','endpoint','2026-11-03 18:36:21.557799','call.blocked','{"type":"call.blocked","timestamp":"2026-11-03T18:36:21.557Z","data":{"call_id":"call_01m84v3sk97t65tnay20aqy3gs","agent":"deployer","tool":"deploy","tool_call_id":"toolu_45","session_id":"session-42","task_id":null,"correlation_id":null,"state":"blocked","attempts":3,"round":1,"links":{"self":"/api/v1/calls/call_01m84v3sk97t65tnay20aqy3gs","guidance":"/api/v1/calls/call_01m84v3sk97t65tnay20aqy3gs/guidance","desk":"/calls/call_01m84v3sk97t65tnay20aqy3gs/"}}}','2026-11-03 18:36:21.557799',0,NULL,'',NULL,NULL,1);
INSERT INTO "retrycontract_outboxmessage" VALUES(13,'msg_01m84v3sng8rhezzzmmt1t4jn9','endpoint','2026-11-23 18:36:21.557799','call.expired','{"type":"call.expired","timestamp":"2026-11-23T18:36:21.557Z","data":{"call_id":"call_01m84v3sk97t65tnay20aqy3gs","agent":"deployer","tool":"deploy","tool_call_id":"toolu_45","session_id":"session-42","task_id":null,"correlation_id":null,"state":"expired","attempts":3,"on_expiry":"expire","links":{"self":"/api/v1/calls/call_01m84v3sk97t65tnay20aqy3gs","guidance":"/api/v1/calls/call_01m84v3sk97t65tnay20aqy3gs/guidance","desk":"/calls/call_01m84v3sk97t65tnay20aqy3gs/"}}}','2026-11-23 18:36:21.557799',0,NULL,'',NULL,NULL,1);
CREATE TABLE "retrycontract_preferences" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "time_zone" varchar(64) NOT NULL, "has_shortcuts" bool NOT NULL, "operator_id" integer NOT NULL UNIQUE REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED);
INSERT INTO "retrycontract_preferences" VALUES(1,'Europe/Zurich',0,1);
CREATE TABLE "retrycontract_provideridentity" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "issuer" varchar(255) NOT NULL, "subject" varchar(255) NOT NULL, "linked_at" datetime NOT NULL, "operator_id" integer NOT NULL UNIQUE REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "provideridentity_is_one_operator" UNIQUE ("issuer", "subject"));
INSERT INTO "retrycontract_provideridentity" VALUES(1,'https://id.example','mía|1','2026-11-23 18:36:21.716631',1);
CREATE TABLE "retrycontract_rollup" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "hour" datetime NOT NULL, "namespace" varchar(200) NOT NULL, "tool_name" varchar(300) NOT NULL, "measure" varchar(20) NOT NULL, "label" varchar(300) NOT NULL, "shard" smallint unsigned NOT NULL CHECK ("shard" >= 0), "amount" bigint NOT NULL, CONSTRAINT "rollup_unique" UNIQUE ("hour", "namespace", "tool_name", "measure", "label", "shard"), CONSTRAINT "rollup_measure_known" CHECK ("measure" IN ('judged', 'valid', 'failure', 'place', 'place_tokens', 'place_answers', 'place_seconds', 'retry_text', 'escalation', 'guidance', 'guidance_time', 'guidance_seconds', 'tried', 'worked', 'source_judged', 'source_valid', 'code_first', 'code_recovered', 'tokens', 'retry_tokens', 'api_error', 'outcome')));
INSERT INTO "retrycontract_rollup" VALUES(1,'2026-11-23 18:00:00','deployer','größe 🚀','code_first','VAL-005	1	2	',0,1);
INSERT INTO "retrycontract_rollup" VALUES(2,'2026-11-23 18:00:00','deployer','größe 🚀','failure','VAL-005',0,2);
INSERT INTO "retrycontract_rollup" VALUES(3,'2026-11-23 18:00:00','deployer','größe 🚀','judged','1',0,1);
INSERT INTO "retrycontract_rollup" VALUES(4,'2026-11-23 18:00:00','deployer','größe 🚀','place','VAL-005	1	2	',0,2);
INSERT INTO "retrycontract_rollup" VALUES(5,'2026-11-23 18:00:00','deployer','größe 🚀','place_tokens','VAL-005	1	2	',0,164);
INSERT INTO "retrycontract_rollup" VALUES(6,'2026-11-23 18:00:00','deployer','größe 🚀','retry_text','',0,622);
INSERT INTO "retrycontract_rollup" VALUES(7,'2026-11-23 18:00:00','deployer','größe 🚀','source_judged','1	1	2	',0,1);
INSERT INTO "retrycontract_rollup" VALUES(9,'2026-11-23 18:00:00','deployer','größe 🚀','judged','2',0,1);
INSERT INTO "retrycontract_rollup" VALUES(13,'2026-11-23 18:00:00','deployer','größe 🚀','source_judged','2	1	2	',0,1);
INSERT INTO "retrycontract_rollup" VALUES(14,'2026-11-23 18:00:00','deployer','deploy','code_first','VAL-005	1	1	',0,1);
INSERT INTO "retrycontract_rollup" VALUES(15,'2026-11-23 18:00:00','deployer','deploy','code_first','VAL-008	1	1	',0,5);
INSERT INTO "retrycontract_rollup" VALUES(16,'2026-11-23 18:00:00','deployer','deploy','failure','VAL-005',0,3);
INSERT INTO "retrycontract_rollup" VALUES(17,'2026-11-23 18:00:00','deployer','deploy','failure','VAL-008',0,16);
INSERT INTO "retrycontract_rollup" VALUES(18,'2026-11-23 18:00:00','deployer','deploy','judged','1',0,8);
INSERT INTO "retrycontract_rollup" VALUES(19,'2026-11-23 18:00:00','deployer','deploy','place','VAL-005	1	1	',0,3);
INSERT INTO "retrycontract_rollup" VALUES(20,'2026-11-23 18:00:00','deployer','deploy','place','VAL-008 /region	1	1	',0,15);
INSERT INTO "retrycontract_rollup" VALUES(21,'2026-11-23 18:00:00','deployer','deploy','place_tokens','VAL-005	1	1	',0,189);
INSERT INTO "retrycontract_rollup" VALUES(22,'2026-11-23 18:00:00','deployer','deploy','place_tokens','VAL-008 /region	1	1	',0,1157);
INSERT INTO "retrycontract_rollup" VALUES(23,'2026-11-23 18:00:00','deployer','deploy','retry_text','',0,5725);
INSERT INTO "retrycontract_rollup" VALUES(24,'2026-11-23 18:00:00','deployer','deploy','source_judged','1	1	1	',0,6);
INSERT INTO "retrycontract_rollup" VALUES(27,'2026-11-23 18:00:00','deployer','deploy','judged','2',0,5);
INSERT INTO "retrycontract_rollup" VALUES(33,'2026-11-23 18:00:00','deployer','deploy','source_judged','2	1	1	',0,5);
INSERT INTO "retrycontract_rollup" VALUES(34,'2026-11-23 18:00:00','deployer','deploy','escalation','',0,5);
INSERT INTO "retrycontract_rollup" VALUES(37,'2026-11-23 18:00:00','deployer','deploy','judged','3',0,5);
INSERT INTO "retrycontract_rollup" VALUES(43,'2026-11-23 18:00:00','deployer','deploy','source_judged','3	1	1	',0,5);
INSERT INTO "retrycontract_rollup" VALUES(44,'2026-11-23 18:00:00','deployer','deploy','code_first','VAL-004	1	1	',0,1);
INSERT INTO "retrycontract_rollup" VALUES(45,'2026-11-23 18:00:00','deployer','deploy','failure','VAL-004',0,1);
INSERT INTO "retrycontract_rollup" VALUES(47,'2026-11-23 18:00:00','deployer','deploy','place','VAL-004	1	1	',0,1);
INSERT INTO "retrycontract_rollup" VALUES(48,'2026-11-23 18:00:00','deployer','deploy','place_tokens','VAL-004	1	1	',0,68);
INSERT INTO "retrycontract_rollup" VALUES(71,'2026-11-23 18:00:00','deployer','deploy','guidance','hint',0,1);
INSERT INTO "retrycontract_rollup" VALUES(72,'2026-11-23 18:00:00','deployer','deploy','guidance_time','60',0,4);
INSERT INTO "retrycontract_rollup" VALUES(73,'2026-11-23 18:00:00','deployer','deploy','place_answers','VAL-008 /region	1	1	',0,4);
INSERT INTO "retrycontract_rollup" VALUES(94,'2026-11-23 18:00:00','deployer','deploy','guidance','corrected',0,1);
INSERT INTO "retrycontract_rollup" VALUES(117,'2026-11-23 18:00:00','deployer','deploy','guidance','accept',0,1);
INSERT INTO "retrycontract_rollup" VALUES(119,'2026-11-23 18:00:00','deployer','deploy','outcome','accepted',0,1);
INSERT INTO "retrycontract_rollup" VALUES(141,'2026-11-23 18:00:00','deployer','deploy','guidance','reject',0,1);
INSERT INTO "retrycontract_rollup" VALUES(143,'2026-11-23 18:00:00','deployer','deploy','outcome','rejected',0,1);
INSERT INTO "retrycontract_rollup" VALUES(146,'2026-11-23 18:00:00','deployer','deploy','outcome','valid',0,1);
INSERT INTO "retrycontract_rollup" VALUES(147,'2026-11-23 18:00:00','deployer','deploy','source_judged','1	1	3	',0,2);
INSERT INTO "retrycontract_rollup" VALUES(148,'2026-11-23 18:00:00','deployer','deploy','source_valid','1	1	3	',0,1);
INSERT INTO "retrycontract_rollup" VALUES(149,'2026-11-23 18:00:00','deployer','deploy','valid','1',0,1);
INSERT INTO "retrycontract_rollup" VALUES(150,'2026-11-23 18:00:00','deployer','deploy','code_first','VAL-008	1	3	',0,1);
INSERT INTO "retrycontract_rollup" VALUES(153,'2026-11-23 18:00:00','deployer','deploy','place','VAL-008 /region	1	3	',0,1);
INSERT INTO "retrycontract_rollup" VALUES(154,'2026-11-23 18:00:00','deployer','deploy','place_tokens','VAL-008 /region	1	3	',0,78);
INSERT INTO "retrycontract_rollup" VALUES(157,'2026-11-23 18:00:00','deployer','deploy','outcome','cancelled',0,1);
INSERT INTO "retrycontract_rollup" VALUES(158,'2026-11-03 18:00:00','deployer','deploy','code_first','VAL-008	1	3	',0,1);
INSERT INTO "retrycontract_rollup" VALUES(159,'2026-11-03 18:00:00','deployer','deploy','failure','VAL-008',0,3);
INSERT INTO "retrycontract_rollup" VALUES(160,'2026-11-03 18:00:00','deployer','deploy','judged','1',0,1);
INSERT INTO "retrycontract_rollup" VALUES(161,'2026-11-03 18:00:00','deployer','deploy','place','VAL-008 /region	1	3	',0,3);
INSERT INTO "retrycontract_rollup" VALUES(162,'2026-11-03 18:00:00','deployer','deploy','place_tokens','VAL-008 /region	1	3	',0,258);
INSERT INTO "retrycontract_rollup" VALUES(163,'2026-11-03 18:00:00','deployer','deploy','retry_text','',0,1004);
INSERT INTO "retrycontract_rollup" VALUES(164,'2026-11-03 18:00:00','deployer','deploy','source_judged','1	1	3	',0,1);
INSERT INTO "retrycontract_rollup" VALUES(166,'2026-11-03 18:00:00','deployer','deploy','judged','2',0,1);
INSERT INTO "retrycontract_rollup" VALUES(170,'2026-11-03 18:00:00','deployer','deploy','source_judged','2	1	3	',0,1);
INSERT INTO "retrycontract_rollup" VALUES(171,'2026-11-03 18:00:00','deployer','deploy','escalation','',0,1);
INSERT INTO "retrycontract_rollup" VALUES(173,'2026-11-03 18:00:00','deployer','deploy','judged','3',0,1);
INSERT INTO "retrycontract_rollup" VALUES(177,'2026-11-03 18:00:00','deployer','deploy','source_judged','3	1	3	',0,1);
INSERT INTO "retrycontract_rollup" VALUES(178,'2026-11-23 18:00:00','deployer','deploy','outcome','expired',0,1);
CREATE TABLE "retrycontract_savedreply" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "title" varchar(80) NOT NULL, "text" text NOT NULL, "position" smallint unsigned NULL CHECK ("position" >= 0), "updated_at" datetime NOT NULL, "operator_id" integer NULL REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "savedreply_position_range" CHECK (("position" IS NULL OR "position" BETWEEN 1 AND 9)), CONSTRAINT "savedreply_unique_own_position" UNIQUE ("operator_id", "position"));
INSERT INTO "retrycontract_savedreply" VALUES(1,'Region 🚀','Use eu-west-1.',1,'2026-11-23 18:36:23.376119',1);
CREATE TABLE "retrycontract_secondfactor" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "sealed" BLOB NOT NULL, "created_at" datetime NOT NULL, "confirmed_at" datetime NULL, "last_step" bigint NOT NULL, "operator_id" integer NOT NULL UNIQUE REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED);
INSERT INTO "retrycontract_secondfactor" VALUES(1,X'67414141414142724249656C573331616A425F57524E442D6F6470716A595A6F3345724A6F7857565165594C7646364C664B474C4E536C4E32492D374A7569737A42333344556173552D7A4C5A4138435F36585A6D6958514C73675974394A746C696D57436278525646544C53375A30554A556C586A4A71476A77653475755A483266686D52665669305F64','2026-11-23 18:36:21.656563',NULL,0,1);
CREATE TABLE "retrycontract_snooze" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "reason" varchar(200) NOT NULL, "snoozed_at" datetime NOT NULL, "until" datetime NOT NULL, "escalation_id" bigint NOT NULL UNIQUE REFERENCES "retrycontract_escalation" ("id") DEFERRABLE INITIALLY DEFERRED, "operator_id" integer NOT NULL REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "snooze_ends_later" CHECK ("until" > ("snoozed_at")));
INSERT INTO "retrycontract_snooze" VALUES(1,'\u202e','2026-11-23 18:36:23.376119','2026-11-23 19:36:23.376119',1,1);
CREATE TABLE "retrycontract_standinghint" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "namespace" varchar(200) NOT NULL, "tool_name" varchar(300) NOT NULL, "fingerprint" varchar(64) NOT NULL, "text" text NOT NULL, "created_at" datetime NOT NULL, "expires_at" datetime NOT NULL, "off_at" datetime NULL, "shown" integer unsigned NOT NULL CHECK ("shown" >= 0), "tried" integer unsigned NOT NULL CHECK ("tried" >= 0), "worked" integer unsigned NOT NULL CHECK ("worked" >= 0), "owner_id" integer NOT NULL REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED, "source_id" bigint NULL REFERENCES "retrycontract_guidance" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "standinghint_ends_later" CHECK ("expires_at" > ("created_at")), CONSTRAINT "standinghint_counts_fit" CHECK (("tried" <= ("shown") AND "worked" <= ("tried"))));
INSERT INTO "retrycontract_standinghint" VALUES(1,'deployer','deploy','af17787f077d6eee','Use eu-west-1.','2026-11-23 18:36:23.376119','2026-12-23 18:36:23.376119',NULL,2,1,0,1,1);
CREATE TABLE "retrycontract_summary" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "span" varchar(4) NOT NULL, "at" datetime NOT NULL, "is_whole" bool NOT NULL, "namespace" varchar(200) NOT NULL, "tool_name" varchar(300) NOT NULL, "judged" bigint NOT NULL, "valid" bigint NOT NULL, "first_judged" bigint NOT NULL, "first_valid" bigint NOT NULL, "counts" text NOT NULL, "details" text NOT NULL, CONSTRAINT "summary_unique" UNIQUE ("span", "is_whole", "at", "namespace", "tool_name"), CONSTRAINT "summary_span_known" CHECK ("span" IN ('hour', 'day')), CONSTRAINT "summary_whole_names_nothing" CHECK ((NOT "is_whole" OR ("namespace" = '' AND "tool_name" = ''))));
INSERT INTO "retrycontract_summary" VALUES(1,'day','2026-11-03 00:00:00',1,'','',3,0,1,0,'{"escalation":{"":1},"failure":{"VAL-008":3},"judged":{"1":1,"2":1,"3":1},"retry_text":{"":1004}}','{"code_first":{"deployer\tdeploy\tVAL-008\t1\t3\t":1},"place":{"deployer\tdeploy\tVAL-008 /region\t1\t3\t":3},"place_tokens":{"deployer\tdeploy\tVAL-008 /region\t1\t3\t":258},"source_judged":{"deployer\tdeploy\t1\t1\t3\t":1,"deployer\tdeploy\t2\t1\t3\t":1,"deployer\tdeploy\t3\t1\t3\t":1}}');
INSERT INTO "retrycontract_summary" VALUES(2,'day','2026-11-03 00:00:00',0,'deployer','deploy',3,0,1,0,'{"escalation":{"":1},"failure":{"VAL-008":3},"judged":{"1":1,"2":1,"3":1},"retry_text":{"":1004}}','{"code_first":{"VAL-008\t1\t3\t":1},"place":{"VAL-008 /region\t1\t3\t":3},"place_tokens":{"VAL-008 /region\t1\t3\t":258},"source_judged":{"1\t1\t3\t":1,"2\t1\t3\t":1,"3\t1\t3\t":1}}');
CREATE TABLE "retrycontract_tool" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "namespace" varchar(200) NOT NULL, "name" varchar(300) NOT NULL, "kind" varchar(20) NOT NULL, "description" text NOT NULL, "strict" bool NOT NULL, "hold" bool NOT NULL, "mode" varchar(10) NULL, "max_attempts" smallint unsigned NULL CHECK ("max_attempts" >= 0), "expires_after" bigint NULL, "on_expiry" varchar(10) NULL, "created_at" datetime NOT NULL, "updated_at" datetime NOT NULL, "current_version_id" bigint NULL REFERENCES "retrycontract_toolversion" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "tool_unique_name" UNIQUE ("namespace", "name"), CONSTRAINT "tool_kind_known" CHECK ("kind" IN ('tool_call', 'agent_response', 'source_file', 'extraction')), CONSTRAINT "tool_max_attempts_range" CHECK (("max_attempts" IS NULL OR "max_attempts" BETWEEN 1 AND 10)), CONSTRAINT "tool_expires_after_range" CHECK (("expires_after" IS NULL OR "expires_after" BETWEEN 1000000 AND 31536000000000)), CONSTRAINT "tool_on_expiry_known" CHECK (("on_expiry" IS NULL OR "on_expiry" IN ('expire', 'reject'))));
INSERT INTO "retrycontract_tool" VALUES(1,'deployer','deploy','tool_call','',1,0,NULL,NULL,172800000001,'expire','2026-11-23 18:36:21.740678','2026-11-23 18:36:23.448989',3);
INSERT INTO "retrycontract_tool" VALUES(2,'deployer','größe 🚀','tool_call','',1,1,NULL,NULL,172800000001,'expire','2026-11-23 18:36:22.536157','2026-11-23 18:36:22.536157',2);
CREATE TABLE "retrycontract_toolversion" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "number" integer unsigned NOT NULL CHECK ("number" >= 0), "schema" text NOT NULL, "sealed" BLOB NULL, "schema_hash" varchar(64) NOT NULL, "created_at" datetime NOT NULL, "quarantined_at" datetime NULL, "tool_id" bigint NOT NULL REFERENCES "retrycontract_tool" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "toolversion_unique_number" UNIQUE ("tool_id", "number"), CONSTRAINT "toolversion_unique_schema" UNIQUE ("tool_id", "schema_hash"));
INSERT INTO "retrycontract_toolversion" VALUES(1,1,'{"type":"object","properties":{"service":{"type":"string"},"region":{"enum":["eu-west-1","us-east-1"]},"replicas":{"type":"integer","minimum":1}},"required":["service","region"],"additionalProperties":false}',NULL,'ec4dfa1a26c469728bc06c54c01b907e46e265b188ee9d6007a96e54cd225f38','2026-11-23 18:36:21.740678',NULL,1);
INSERT INTO "retrycontract_toolversion" VALUES(2,1,'{"type":"object","properties":{"z":{},"a":{"const":1e+308}}}',NULL,'b7be164ebf22dd146d974c6ec3bb54c2d1b244e1c4d59d216df61266f5eefe87','2026-11-23 18:36:22.536157',NULL,2);
INSERT INTO "retrycontract_toolversion" VALUES(3,2,'{"type":"object","properties":{"service":{"type":"string"},"region":{"enum":["eu-west-1","us-east-1"]},"replicas":{"type":"integer","minimum":1}},"required":["service","region"],"additionalProperties":false,"title":"second version"}',NULL,'19364725574a6c68d51a14f5bcb7be25840bd272da93ae35d893af012fbc39fe','2026-11-23 18:36:23.448989',NULL,1);
CREATE TABLE "retrycontract_webhookdelivery" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "tried_at" datetime NOT NULL, "status" smallint unsigned NULL CHECK ("status" >= 0), "reason" varchar(200) NOT NULL, "duration_ms" integer unsigned NOT NULL CHECK ("duration_ms" >= 0), "message_id" bigint NOT NULL REFERENCES "retrycontract_outboxmessage" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "delivery_status_is_http" CHECK (("status" IS NULL OR "status" BETWEEN 100 AND 999)));
INSERT INTO "retrycontract_webhookdelivery" VALUES(1,'2026-11-23 18:36:23.376119',NULL,'‮',1,1);
CREATE TABLE "retrycontract_webhookendpoint" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "public_id" varchar(40) NOT NULL UNIQUE, "sealed_address" BLOB NOT NULL, "events" text NOT NULL, "is_active" bool NOT NULL, "gone_at" datetime NULL, "sealed" BLOB NOT NULL, "created_at" datetime NOT NULL, "agent_id" bigint NULL REFERENCES "retrycontract_agent" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "endpoint_gone_is_off" CHECK (("gone_at" IS NULL OR NOT "is_active")));
INSERT INTO "retrycontract_webhookendpoint" VALUES(1,'ep_01m84v3rsvjje1a9qh3899debn',X'67414141414142724249656D772D45626C54626D447872346A7133444B564733626567552D6A35342D4E3746345A446C7033304178717551545A784E5661643738533472593666325967306A5655596F455F393641687A4D30735F6E71486836744C686B454A3845413358656673574A4E5A4B4A6E79515033556A456E4A5461464C36586642543250526735','["call.blocked","call.resolved","call.expired","call.cancelled","guidance.given"]',1,NULL,X'67414141414142724249656D4F7343397A5837776D4956544A5A35347A435941514A30477263413774416D7152484274563244635A687674703538346D685051516C614247795A614151525F6B7A70714130655F6B32685673567753592D42372D7048457165527A6643363965664E42556431545437614F6E4865795278344F7A616B574C4C4631736C6B7A6675344332767538757752454D3359614155516D7038426C434E626237504D6149316B397776454A38566F3D','2026-11-23 18:36:22.714181',1);
CREATE TABLE "retrycontract_workerbeat" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(200) NOT NULL UNIQUE, "beat_at" datetime NOT NULL);
INSERT INTO "retrycontract_workerbeat" VALUES(1,'worker','2026-11-23 18:36:21.557799');
CREATE UNIQUE INDEX "auth_group_permissions_group_id_permission_id_0cd325b0_uniq" ON "auth_group_permissions" ("group_id", "permission_id");
CREATE INDEX "auth_group_permissions_group_id_b120cbf9" ON "auth_group_permissions" ("group_id");
CREATE INDEX "auth_group_permissions_permission_id_84c5c92e" ON "auth_group_permissions" ("permission_id");
CREATE UNIQUE INDEX "auth_user_groups_user_id_group_id_94350c0c_uniq" ON "auth_user_groups" ("user_id", "group_id");
CREATE INDEX "auth_user_groups_user_id_6a12ed8b" ON "auth_user_groups" ("user_id");
CREATE INDEX "auth_user_groups_group_id_97559544" ON "auth_user_groups" ("group_id");
CREATE UNIQUE INDEX "auth_user_user_permissions_user_id_permission_id_14a6b632_uniq" ON "auth_user_user_permissions" ("user_id", "permission_id");
CREATE INDEX "auth_user_user_permissions_user_id_a95ead1b" ON "auth_user_user_permissions" ("user_id");
CREATE INDEX "auth_user_user_permissions_permission_id_1fbb5f2c" ON "auth_user_user_permissions" ("permission_id");
CREATE INDEX "django_admin_log_content_type_id_c4bce8eb" ON "django_admin_log" ("content_type_id");
CREATE INDEX "django_admin_log_user_id_c564eba6" ON "django_admin_log" ("user_id");
CREATE UNIQUE INDEX "django_content_type_app_label_model_76bd3d3b_uniq" ON "django_content_type" ("app_label", "model");
CREATE UNIQUE INDEX "auth_permission_content_type_id_codename_01ab375a_uniq" ON "auth_permission" ("content_type_id", "codename");
CREATE INDEX "auth_permission_content_type_id_2f476e4b" ON "auth_permission" ("content_type_id");
CREATE INDEX "answerrecord_last_given" ON "retrycontract_answerrecord" ("last_given_at");
CREATE INDEX "retrycontract_apikey_agent_id_f82a022a" ON "retrycontract_apikey" ("agent_id");
CREATE INDEX "retrycontract_event_call_id_5d70143d" ON "retrycontract_event" ("call_id");
CREATE INDEX "rollup_spread" ON "retrycontract_rollup" ("hour") WHERE "shard" > 0;
CREATE INDEX "summary_by_tool" ON "retrycontract_summary" ("namespace", "tool_name", "span", "at");
CREATE UNIQUE INDEX "escalation_one_open" ON "retrycontract_escalation" ("call_id") WHERE "state" = 'open';
CREATE INDEX "retrycontract_escalation_call_id_308b4181" ON "retrycontract_escalation" ("call_id");
CREATE INDEX "retrycontract_claim_operator_id_5ec9efd4" ON "retrycontract_claim" ("operator_id");
CREATE INDEX "claim_until" ON "retrycontract_claim" ("until");
CREATE INDEX "event_by_agent" ON "retrycontract_event" ("agent_id", "id");
CREATE INDEX "event_by_actor" ON "retrycontract_event" ("actor", "id");
CREATE INDEX "event_by_name" ON "retrycontract_event" ("name", "id");
CREATE INDEX "event_by_time" ON "retrycontract_event" ("at") WHERE ("id" & 255) = 0;
CREATE INDEX "event_by_door" ON "retrycontract_event" ("door", "id") WHERE NOT ("door" = 'api');
CREATE INDEX "retrycontract_failedlogins_last_at_0eeb5274" ON "retrycontract_failedlogins" ("last_at");
CREATE INDEX "retrycontract_failedlogins_operator_id_173cfd8f" ON "retrycontract_failedlogins" ("operator_id");
CREATE INDEX "retrycontract_guidance_base_id_c39898a9" ON "retrycontract_guidance" ("base_id");
CREATE INDEX "retrycontract_guidance_call_id_905bcc20" ON "retrycontract_guidance" ("call_id");
CREATE INDEX "retrycontract_guidance_operator_id_f16cafa2" ON "retrycontract_guidance" ("operator_id");
CREATE INDEX "retrycontract_guidance_record_id_0bbde336" ON "retrycontract_guidance" ("record_id");
CREATE INDEX "retrycontract_guidanceversion_guidance_id_0e14c93b" ON "retrycontract_guidanceversion" ("guidance_id");
CREATE INDEX "retrycontract_heldanswer_batch_b51eabf5" ON "retrycontract_heldanswer" ("batch");
CREATE INDEX "retrycontract_heldanswer_call_id_a3858aeb" ON "retrycontract_heldanswer" ("call_id");
CREATE INDEX "retrycontract_heldanswer_operator_id_9e2d2457" ON "retrycontract_heldanswer" ("operator_id");
CREATE INDEX "heldanswer_send_at" ON "retrycontract_heldanswer" ("send_at");
CREATE INDEX "retrycontract_idempotencykey_agent_id_12d5a6bf" ON "retrycontract_idempotencykey" ("agent_id");
CREATE INDEX "retrycontract_idempotencykey_attempt_id_505379d8" ON "retrycontract_idempotencykey" ("attempt_id");
CREATE INDEX "idempotency_key_age" ON "retrycontract_idempotencykey" ("created_at");
CREATE INDEX "retrycontract_notice_escalation_id_6b072ac9" ON "retrycontract_notice" ("escalation_id");
CREATE INDEX "retrycontract_notice_message_id_2600cb04" ON "retrycontract_notice" ("message_id");
CREATE INDEX "notice_waiting" ON "retrycontract_notice" ("channel", "id") WHERE "message_id" IS NULL;
CREATE INDEX "retrycontract_savedreply_operator_id_dc15a492" ON "retrycontract_savedreply" ("operator_id");
CREATE UNIQUE INDEX "savedreply_unique_shared_position" ON "retrycontract_savedreply" ("position") WHERE "operator_id" IS NULL;
CREATE INDEX "retrycontract_snooze_operator_id_bf0a9fac" ON "retrycontract_snooze" ("operator_id");
CREATE INDEX "snooze_until" ON "retrycontract_snooze" ("until");
CREATE UNIQUE INDEX "standinghint_one_on" ON "retrycontract_standinghint" ("namespace", "tool_name", "fingerprint") WHERE "off_at" IS NULL;
CREATE INDEX "retrycontract_standinghint_owner_id_236da9cc" ON "retrycontract_standinghint" ("owner_id");
CREATE INDEX "retrycontract_standinghint_source_id_52bc7a97" ON "retrycontract_standinghint" ("source_id");
CREATE INDEX "attempt_waiting" ON "retrycontract_attempt" ("id") WHERE "state" IN ('queued', 'leased');
CREATE INDEX "attempt_by_tool_call" ON "retrycontract_attempt" ("tool_call_id", "call_id");
CREATE INDEX "retrycontract_toolversion_tool_id_c9584c05" ON "retrycontract_toolversion" ("tool_id");
CREATE INDEX "retrycontract_tool_current_version_id_82df8420" ON "retrycontract_tool" ("current_version_id");
CREATE UNIQUE INDEX "call_unique_public_id" ON "retrycontract_call" ("public_id");
CREATE INDEX "call_queue" ON "retrycontract_call" ("state", "blocked_at") WHERE "state" = 'blocked';
CREATE INDEX "call_by_mistake" ON "retrycontract_call" ("tool_name", "fingerprint", "agent_id", "blocked_at") WHERE "state" = 'blocked';
CREATE INDEX "call_open_by_session" ON "retrycontract_call" ("agent_id", "session_id", "tool_name") WHERE NOT ("state" IN ('accepted', 'cancelled', 'expired', 'observed', 'rejected', 'unavailable', 'valid'));
CREATE INDEX "call_by_agent" ON "retrycontract_call" ("agent_id", "id");
CREATE INDEX "call_by_state" ON "retrycontract_call" ("state", "id") WHERE NOT ("state" = 'valid');
CREATE INDEX "call_ended" ON "retrycontract_call" ("updated_at") WHERE "state" IN ('accepted', 'cancelled', 'expired', 'observed', 'rejected', 'unavailable', 'valid');
CREATE INDEX "call_by_tool_name" ON "retrycontract_call" ("tool_name", ("id"), "agent_id");
CREATE INDEX "call_by_session" ON "retrycontract_call" ("session_id") WHERE "session_id" IS NOT NULL;
CREATE INDEX "call_by_correlation" ON "retrycontract_call" ("correlation_id") WHERE "correlation_id" IS NOT NULL;
CREATE INDEX "call_answered" ON "retrycontract_call" ("id", "agent_id", "state") WHERE "was_answered";
CREATE INDEX "call_answered_by_tool" ON "retrycontract_call" ("tool_name", ("id"), "agent_id", "state") WHERE "was_answered";
CREATE INDEX "call_by_model" ON "retrycontract_call" ("model", "id") WHERE "model" IS NOT NULL;
CREATE INDEX "call_by_time" ON "retrycontract_call" ("created_at") WHERE ("id" & 255) = 0;
CREATE INDEX "call_by_kind" ON "retrycontract_call" ("kind", "id") WHERE NOT ("kind" = 'tool_call');
CREATE INDEX "call_failed" ON "retrycontract_call" ("id") WHERE NOT ("fingerprint" = '');
CREATE INDEX "call_failed_by_tool" ON "retrycontract_call" ("tool_id", "id") WHERE NOT ("fingerprint" = '');
CREATE INDEX "call_responses" ON "retrycontract_call" ("id") WHERE "kind" = 'agent_response';
CREATE INDEX "call_responses_agent" ON "retrycontract_call" ("agent_id", "id") WHERE "kind" = 'agent_response';
CREATE INDEX "call_responses_task" ON "retrycontract_call" ("task_id", "id") WHERE "kind" = 'agent_response';
CREATE INDEX "retrycontract_webhookdelivery_message_id_8145977b" ON "retrycontract_webhookdelivery" ("message_id");
CREATE INDEX "retrycontract_webhookendpoint_agent_id_f2cd111b" ON "retrycontract_webhookendpoint" ("agent_id");
CREATE INDEX "retrycontract_outboxmessage_endpoint_id_c942d3cd" ON "retrycontract_outboxmessage" ("endpoint_id");
CREATE INDEX "outbox_unfinished" ON "retrycontract_outboxmessage" ("channel", "tries") WHERE ("delivered_at" IS NULL AND "given_up_at" IS NULL);
CREATE INDEX "outbox_ended" ON "retrycontract_outboxmessage" ("created_at") WHERE ("delivered_at" IS NOT NULL OR "given_up_at" IS NOT NULL);
CREATE INDEX "outbox_due" ON "retrycontract_outboxmessage" ("endpoint_id", "due_at") WHERE ("delivered_at" IS NULL AND "endpoint_id" IS NOT NULL AND "given_up_at" IS NULL);
CREATE UNIQUE INDEX "turn_unique_channel" ON "retrycontract_channelturn" ("channel") WHERE (NOT ("channel" = 'endpoint') AND "endpoint_id" IS NULL);
CREATE TRIGGER retrycontract_event_unchanged BEFORE UPDATE ON retrycontract_event FOR EACH ROW WHEN NOT EXISTS (SELECT 1 FROM retrycontract_forgetting) BEGIN SELECT RAISE(ABORT, 'retrycontract: history is append-only'); END;
CREATE TRIGGER retrycontract_event_kept BEFORE DELETE ON retrycontract_event FOR EACH ROW WHEN NOT EXISTS (SELECT 1 FROM retrycontract_forgetting) BEGIN SELECT RAISE(ABORT, 'retrycontract: history is append-only'); END;
CREATE TRIGGER retrycontract_attempt_unchanged BEFORE UPDATE ON retrycontract_attempt FOR EACH ROW WHEN NOT EXISTS (SELECT 1 FROM retrycontract_forgetting) AND OLD.state IN ('judged', 'dead', 'discarded') BEGIN SELECT RAISE(ABORT, 'retrycontract: history is append-only'); END;
CREATE TRIGGER retrycontract_attempt_kept BEFORE DELETE ON retrycontract_attempt FOR EACH ROW WHEN NOT EXISTS (SELECT 1 FROM retrycontract_forgetting) BEGIN SELECT RAISE(ABORT, 'retrycontract: history is append-only'); END;
CREATE TRIGGER retrycontract_guidanceversion_unchanged BEFORE UPDATE ON retrycontract_guidanceversion FOR EACH ROW WHEN NOT EXISTS (SELECT 1 FROM retrycontract_forgetting) BEGIN SELECT RAISE(ABORT, 'retrycontract: history is append-only'); END;
CREATE TRIGGER retrycontract_guidanceversion_kept BEFORE DELETE ON retrycontract_guidanceversion FOR EACH ROW WHEN NOT EXISTS (SELECT 1 FROM retrycontract_forgetting) BEGIN SELECT RAISE(ABORT, 'retrycontract: history is append-only'); END;
CREATE TRIGGER retrycontract_guidance_unchanged BEFORE UPDATE OF escalation_id, call_id, operator_id, decision, text, arguments, patch, base_id, granted, rendered, given_at ON retrycontract_guidance FOR EACH ROW WHEN NOT EXISTS (SELECT 1 FROM retrycontract_forgetting) BEGIN SELECT RAISE(ABORT, 'retrycontract: history is append-only'); END;
CREATE TRIGGER retrycontract_guidance_kept BEFORE DELETE ON retrycontract_guidance FOR EACH ROW WHEN NOT EXISTS (SELECT 1 FROM retrycontract_forgetting) BEGIN SELECT RAISE(ABORT, 'retrycontract: history is append-only'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('django_migrations',19);
INSERT INTO "sqlite_sequence" VALUES('django_admin_log',0);
INSERT INTO "sqlite_sequence" VALUES('django_content_type',36);
INSERT INTO "sqlite_sequence" VALUES('auth_permission',144);
INSERT INTO "sqlite_sequence" VALUES('auth_group',2);
INSERT INTO "sqlite_sequence" VALUES('auth_user',2);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_escalation',6);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_claim',0);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_failedlogins',3);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_guidance',4);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_guidanceversion',4);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_heldanswer',1);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_idempotencykey',1);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_notice',1);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_savedreply',1);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_snooze',1);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_standinghint',1);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_attempt',24);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_toolversion',3);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_tool',2);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_call',11);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_webhookdelivery',1);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_webhookendpoint',1);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_outboxmessage',13);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_channelturn',0);
INSERT INTO "sqlite_sequence" VALUES('auth_user_groups',2);
INSERT INTO "sqlite_sequence" VALUES('auth_user_user_permissions',1);
INSERT INTO "sqlite_sequence" VALUES('auth_group_permissions',3);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_secondfactor',1);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_preferences',1);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_provideridentity',1);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_agent',1);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_apikey',1);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_event',43);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_rollup',178);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_answerrecord',2);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_workerbeat',1);
INSERT INTO "sqlite_sequence" VALUES('retrycontract_summary',2);
COMMIT;

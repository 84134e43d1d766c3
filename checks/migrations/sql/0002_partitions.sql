-- Partitioned tables. They carry no foreign keys: ATTACH PARTITION would wait behind every open ingest.

CREATE TABLE checks_reportreceipt (
    node_id uuid NOT NULL,
    report_id uuid NOT NULL,
    received_at timestamptz NOT NULL,
    PRIMARY KEY (node_id, report_id)
) PARTITION BY HASH (node_id);

CREATE TABLE checks_report (
    node_id uuid NOT NULL,
    report_id uuid NOT NULL,
    received_at timestamptz NOT NULL,
    observed_at timestamptz NOT NULL,
    cadence varchar(16) NOT NULL,
    agent_version varchar(32) NOT NULL,
    boot_id varchar(64) NOT NULL,
    captured_at timestamptz,
    body jsonb NOT NULL
) PARTITION BY RANGE (received_at);
CREATE INDEX report_node_received ON checks_report (node_id, received_at);

CREATE TABLE checks_flip (
    id bigserial NOT NULL,
    at timestamptz NOT NULL,
    observed_at timestamptz,
    cluster_id bigint NOT NULL,
    node_id uuid NOT NULL,
    item varchar(64) NOT NULL,
    subject varchar(128) NOT NULL,
    raw_before varchar(8) NOT NULL,
    raw varchar(8) NOT NULL,
    settled_before varchar(8) NOT NULL,
    settled varchar(8) NOT NULL,
    reason varchar(48) NOT NULL,
    detail varchar(300) NOT NULL,
    value jsonb NOT NULL,
    item_version varchar(64) NOT NULL,
    cause varchar(8) NOT NULL,
    report_id uuid,
    PRIMARY KEY (id, at),
    CONSTRAINT flip_cause_known CHECK (cause IN ('report', 'rejudge', 'person')),
    CONSTRAINT flip_changes_something CHECK (raw_before <> raw OR settled_before <> settled)
) PARTITION BY RANGE (at);
CREATE INDEX flip_at_brin ON checks_flip USING brin (at);
CREATE INDEX flip_node_item_at ON checks_flip (node_id, item, at DESC);
CREATE INDEX flip_to_fail ON checks_flip (cluster_id, at) WHERE raw = 'fail' AND raw_before <> 'fail';

CREATE TABLE checks_valuerollup (
    node_id uuid NOT NULL,
    item varchar(64) NOT NULL,
    subject varchar(64) NOT NULL,
    name varchar(64) NOT NULL,
    grain varchar(4) NOT NULL,
    at timestamptz NOT NULL,
    least double precision NOT NULL,
    greatest double precision NOT NULL,
    last double precision NOT NULL,
    samples integer NOT NULL,
    PRIMARY KEY (node_id, item, subject, name, grain, at)
) PARTITION BY LIST (grain);
CREATE TABLE checks_valuerollup_hour PARTITION OF checks_valuerollup FOR VALUES IN ('hour') PARTITION BY RANGE (at);
CREATE TABLE checks_valuerollup_day PARTITION OF checks_valuerollup FOR VALUES IN ('day') PARTITION BY RANGE (at);

DO $$
BEGIN
    FOR part IN 0..7 LOOP
        EXECUTE format(
            'CREATE TABLE checks_reportreceipt_h%s PARTITION OF checks_reportreceipt FOR VALUES WITH (MODULUS 8, REMAINDER %s)',
            part, part);
        EXECUTE format('CREATE INDEX ON checks_reportreceipt_h%s USING brin (received_at)', part);
    END LOOP;
END $$;

-- Which table is cut how, and how long it is kept (NULL: for ever). Fixed here, so that no caller can widen it.
CREATE FUNCTION checks_partition_plan()
RETURNS TABLE (parent text, step text, kept interval) LANGUAGE sql IMMUTABLE AS $$
    VALUES
        ('checks_report', 'day', interval '3 days'),
        ('checks_flip', 'month', NULL),
        ('checks_valuerollup_hour', 'day', interval '7 days'),
        ('checks_valuerollup_day', 'month', interval '400 days')
$$;

CREATE FUNCTION checks_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;

-- Makes every partition of the coming 14 days that is missing; returns how many it made. LIKE + ATTACH, because
-- PARTITION OF takes a lock that waits behind open inserts. Takes no argument: whoever may call it can do no harm.
CREATE FUNCTION ensure_partitions() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET timezone = 'UTC'
AS $$
DECLARE
    cut record;
    starts timestamptz;
    child text;
    made integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('countersign.partitions'));
    FOR cut IN SELECT * FROM checks_partition_plan() LOOP
        starts := date_trunc(cut.step, now() - interval '1 day');
        WHILE starts <= now() + interval '14 days' LOOP
            child := format('%s_p%s', cut.parent,
                            to_char(starts, CASE cut.step WHEN 'day' THEN 'YYYYMMDD' ELSE 'YYYYMM' END));
            IF to_regclass(child) IS NULL THEN
                EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)',
                               child, cut.parent);
                IF cut.parent = 'checks_flip' THEN
                    -- Statement triggers are not cloned by ATTACH; row triggers are.
                    EXECUTE format('CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON public.%I '
                                   'FOR EACH STATEMENT EXECUTE FUNCTION public.checks_refuse_change()', child);
                END IF;
                EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
                               cut.parent, child, starts, starts + ('1 ' || cut.step)::interval);
                made := made + 1;
            END IF;
            starts := starts + ('1 ' || cut.step)::interval;
        END LOOP;
    END LOOP;
    RETURN made;
END $$;

-- Drops partitions that ended longer ago than their table is kept, and old receipts; returns the dropped tables' names.
CREATE FUNCTION drop_partitions() RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET timezone = 'UTC'
SET lock_timeout = '2s'
AS $$
DECLARE
    old record;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('countersign.partitions'));
    FOR old IN
        SELECT child.relname
        FROM checks_partition_plan() AS cut
        JOIN pg_inherits ON inhparent = to_regclass('public.' || cut.parent)
        JOIN pg_class AS child ON child.oid = inhrelid
        CROSS JOIN LATERAL (SELECT substring(child.relname FROM '_p(\d{6,8})$') AS stamp) AS named
        WHERE cut.kept IS NOT NULL AND stamp IS NOT NULL
          AND to_timestamp(rpad(stamp, 8, '01'), 'YYYYMMDD') + ('1 ' || cut.step)::interval < now() - cut.kept
        ORDER BY child.relname
    LOOP
        EXECUTE format('DROP TABLE public.%I', old.relname);
        RETURN NEXT old.relname;
    END LOOP;
    DELETE FROM public.checks_reportreceipt WHERE received_at < now() - interval '8 days';
END $$;

-- Until when every partitioned table can take rows: the least of their last upper bounds.
CREATE FUNCTION partitions_until() RETURNS timestamptz
LANGUAGE sql STABLE
SET search_path = pg_catalog, public, pg_temp
SET timezone = 'UTC'
AS $$
    SELECT min(until) FROM (
        SELECT max(to_timestamp(rpad(stamp, 8, '01'), 'YYYYMMDD') + ('1 ' || cut.step)::interval) AS until
        FROM checks_partition_plan() AS cut
        LEFT JOIN pg_inherits ON inhparent = to_regclass('public.' || cut.parent)
        LEFT JOIN pg_class AS child ON child.oid = inhrelid
        CROSS JOIN LATERAL (SELECT substring(child.relname FROM '_p(\d{6,8})$') AS stamp) AS named
        GROUP BY cut.parent
    ) AS ends
$$;

CREATE TRIGGER append_only_row BEFORE UPDATE OR DELETE ON checks_flip
    FOR EACH ROW EXECUTE FUNCTION checks_refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON checks_flip
    FOR EACH STATEMENT EXECUTE FUNCTION checks_refuse_change();
CREATE TRIGGER append_only_row BEFORE UPDATE OR DELETE ON checks_ledgerentry
    FOR EACH ROW EXECUTE FUNCTION checks_refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON checks_ledgerentry
    FOR EACH STATEMENT EXECUTE FUNCTION checks_refuse_change();

SELECT ensure_partitions();

-- Rows that each report rewrites in place: room in the page keeps those updates away from the indexes.
ALTER TABLE checks_nodeitemstate SET
    (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 1000);
ALTER TABLE checks_nodememory SET
    (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 1000);
ALTER TABLE checks_nodereadiness SET
    (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 1000);

-- When a node had which settings, and who made one of them an item, is never changed.
DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY['fingerprintchange', 'settingitem', 'settingitemact'] LOOP
        EXECUTE format('CREATE TRIGGER append_only_row BEFORE UPDATE OR DELETE ON %I '
                       'FOR EACH ROW EXECUTE FUNCTION checks_refuse_change()', 'checks_' || guarded);
        EXECUTE format('CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON %I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION checks_refuse_change()', 'checks_' || guarded);
    END LOOP;
END $$;

-- A timeline is written on and never over; so are files, and who proposed and accepted a threshold.
DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY['incidentevent', 'incidentattachment', 'thresholdproposal', 'thresholdapproval'] LOOP
        EXECUTE format('CREATE TRIGGER append_only_row BEFORE UPDATE OR DELETE ON %I '
                       'FOR EACH ROW EXECUTE FUNCTION checks_refuse_change()', 'checks_' || guarded);
        EXECUTE format('CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON %I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION checks_refuse_change()', 'checks_' || guarded);
    END LOOP;
END $$;

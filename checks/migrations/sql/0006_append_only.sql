-- What people signed, gave and took back is never changed: an end is a row of its own.
DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY[
        'attestation', 'attestedfile', 'delegation', 'delegationend', 'ledgeranchor', 'manifest', 'manifestblob',
        'override', 'overrideend', 'pinnedevidence', 'policyapproval', 'policyversion', 'revocation', 'runstart',
        'signature', 'waiver', 'waiverapproval', 'waiverend'
    ] LOOP
        EXECUTE format('CREATE TRIGGER append_only_row BEFORE UPDATE OR DELETE ON %I '
                       'FOR EACH ROW EXECUTE FUNCTION checks_refuse_change()', 'checks_' || guarded);
        EXECUTE format('CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON %I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION checks_refuse_change()', 'checks_' || guarded);
    END LOOP;
END $$;

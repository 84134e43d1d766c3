-- A price that an estimate was made of, and the estimate itself, are never changed: another price is another book.
DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY[
        'actualcost', 'baserate', 'clusterprice', 'costscenario', 'currencyrate', 'estimate', 'pricebook', 'pricerow'
    ] LOOP
        EXECUTE format('CREATE TRIGGER append_only_row BEFORE UPDATE OR DELETE ON %I '
                       'FOR EACH ROW EXECUTE FUNCTION checks_refuse_change()', 'checks_' || guarded);
        EXECUTE format('CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON %I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION checks_refuse_change()', 'checks_' || guarded);
    END LOOP;
END $$;

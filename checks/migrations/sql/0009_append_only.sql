-- What an audit found is never changed: the next one is a row of its own.
CREATE TRIGGER append_only_row BEFORE UPDATE OR DELETE ON checks_runevidence
    FOR EACH ROW EXECUTE FUNCTION checks_refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON checks_runevidence
    FOR EACH STATEMENT EXECUTE FUNCTION checks_refuse_change();

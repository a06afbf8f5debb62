internal import SluiceQuery
internal import SluiceStorage
public import SluiceViews

extension Results {
    /// What the query means and costs in this store. Reads no object, and contacts nobody.
    ///
    /// The plan is how objects on disk are found while the query is not observed or not yet complete; the members of a
    /// complete subscription are read by their row ids.
    /// - Throws: `QueryError` when the query is malformed or names what the schema lacks.
    public func explain() throws -> QueryExplanation {
        let query = try query()
        return try core.read { reader in
            QueryExplanation(
                query, schema: reader.schema, plan: try reader.plan(of: query, inOrder: false), wantedIndexes: [])
        }
    }

    /// What the query means and costs on the server. Makes no subscription there.
    ///
    /// - Parameter timeout: the longest wait; nil waits for ever.
    /// - Throws: `QueryError` as ``explain()``; ``SyncError`` when there is no session or no answer in time, or the server
    ///   does not understand the query.
    public func explainOnServer(timeout: Duration? = nil) async throws -> QueryExplanation {
        let report = try await core.report(.explain(query: query().canonicalText), timeout: timeout)
        do { return try QueryExplanation(json: report.utf8) } catch {
            throw SyncError(.protocolViolation, "the server's explanation cannot be read")
        }
    }
}

internal import SluiceQuery
internal import SluiceStorage
public import SluiceViews

extension Results {
    /// Explains what the query means and costs in this store. It reads no object and does not contact the server.
    ///
    /// The plan says how the store finds objects on disk while the query is not observed or not complete yet. It reads
    /// the members of a complete subscription by their row ids.
    ///
    /// - Throws: `QueryError` when the query is malformed or names something that is not in the schema.
    public func explain() throws -> QueryExplanation {
        let query = try query()
        // Only the first matches are read where a limit is the one stage.
        let order: SQLCompiler.Order = query.limit != nil && query.stages.isEmpty ? .result : .any
        return try core.read { reader in
            QueryExplanation(
                query, schema: reader.schema, plan: try reader.plan(of: query, order: order),
                totalPlan: try reader.totalPlan(of: query), wantedIndexes: [])
        }
    }

    /// Explains what the query means and costs on the server. It makes no subscription there, and waits for a session and
    /// the answer as ``Store/serverStatus(timeout:)`` does.
    ///
    /// - Parameter timeout: the longest wait for both together; nil waits without limit, also while syncing is paused.
    /// - Throws: `QueryError` as ``explain()``; ``SyncError`` when there is no session or no answer in time, when the
    ///   class is local, or when the server does not understand the query.
    public func explainOnServer(timeout: Duration? = nil) async throws -> QueryExplanation {
        let query = try query()
        guard !query.namesLocalClass(in: core.schema) else {
            throw SyncError(
                .noServer, "\(query.className) is local, and no server has it; explain() says what the query costs here"
            )
        }
        let text = query.canonicalText
        let report = try await core.report(.explain(query: text), timeout: timeout)
        do { return try QueryExplanation(json: report.utf8) } catch {
            throw SyncError(.protocolViolation, "the server's explanation cannot be read")
        }
    }
}

internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

extension DatabaseEngine {
    /// Explains what a query means and costs here. It makes no subscription and keeps nothing.
    func explanation(of query: Query) throws -> QueryExplanation {
        let schema = storage.schema
        // Without sort and limit, a live view is sent in storage order.
        let plan = try storage.plan(of: query, inOrder: query.limit != nil || !query.sort.isEmpty)
        guard let wanted = IndexPolicy.index(for: query, schema: schema) else {
            return QueryExplanation(query, schema: schema, plan: plan, wantedIndexes: [])
        }
        try findIndexes()
        let remark = automaticIndexes.remark(on: wanted, rowCount: try storage.rowCountMax(ofClass: wanted.classIndex))
        return QueryExplanation(
            query, schema: schema, plan: plan, wantedIndexes: [wanted.description(in: schema)],
            wantedIndexRemark: remark)
    }

    func explain(_ request: ClientMessage.ReportRequest, to session: ServerSession) throws {
        do {
            let query = try Query.parse(request.argument, schema: storage.schema)
            let json = Array(try explanation(of: query).json.utf8)
            send([.report(session: request.session, request: request.request, json: json)], to: session.id)
        } catch let error as QueryError {
            let isUnknown = error.code == .unknownClass || error.code == .unknownProperty
            let failure = ServerMessage.ReportError(
                session: request.session, request: request.request, code: isUnknown ? .unknownName : .invalidQuery,
                message: error.message, position: error.position.map(UInt64.init))
            send([.reportError(failure)], to: session.id)
        } catch let error as StorageError where error.endsQueryAlone {
            if error.isOfDamage { noteFailure("a query could not be explained", error) }
            let (code, message) = subscriberError(of: error)
            let failure = ServerMessage.ReportError(
                session: request.session, request: request.request, code: code, message: message)
            send([.reportError(failure)], to: session.id)
        }
    }
}

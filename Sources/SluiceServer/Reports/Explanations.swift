internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

extension Reports {
    /// Explains what a query means and costs here. It makes no subscription and keeps nothing.
    func explanation(of query: Query) throws -> QueryExplanation {
        let schema = storage.schema
        // Without sort and limit, a live view is sent in storage order.
        let plan = try storage.plan(
            of: query, order: query.limit != nil || !query.sort.isEmpty ? .result : .row(after: 0))
        let totalPlan = try storage.totalPlan(of: query)
        guard let wanted = IndexPolicy.index(for: query, schema: schema) else {
            return QueryExplanation(query, schema: schema, plan: plan, totalPlan: totalPlan, wantedIndexes: [])
        }
        return QueryExplanation(
            query, schema: schema, plan: plan, totalPlan: totalPlan, wantedIndexes: [wanted.description(in: schema)],
            wantedIndexRemark: try indexes.remark(on: wanted))
    }

    /// The answer to a request for an explanation, which is of the query as the user may read it.
    func explain(_ request: ClientMessage.ReportRequest, as access: AccessBinding) throws -> ServerMessage {
        do {
            let parsed = try Query.parse(request.argument, schema: storage.schema)
            let query = try access.query(parsed)
            let json = Array(try explanation(of: query).json.utf8)
            return .report(session: request.session, request: request.request, json: json)
        } catch let error as QueryError {
            return RequestRejection(error).answer(to: request)
        } catch let error as HiddenPropertyError {
            return RequestRejection(error).answer(to: request)
        } catch let error as StorageError where error.endsQueryAlone {
            if error.isOfDamage { database.noteFailure("a query could not be explained", error) }
            let (code, message) = database.subscriberError(of: error)
            return request.failure(code, message)
        }
    }
}

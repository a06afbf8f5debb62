package import SluiceModel

extension Query {
    /// Checks a query against a schema and brings it into canonical form.
    ///
    /// - Parameters:
    ///   - inverses: the names that the query may use for backlinks.
    ///   - isLimited: whether the limits on lists, constants and text hold, as they must for what a client sends.
    package init(
        _ syntax: QuerySyntax, schema: Schema, inverses: InverseNames = InverseNames(), isLimited: Bool = true
    ) throws(QueryError) {
        let checker = Checker(schema: schema, inverses: inverses, isLimited: isLimited)
        switch syntax.target {
        case .object(let id):
            guard case .constant(true) = syntax.predicate, syntax.clauses.isEmpty else {
                throw QueryError(
                    .syntax, "a query of one object by its id takes no condition and no clause",
                    at: syntax.predicate.position ?? syntax.clauses.first?.position)
            }
            try self.init(.ofObject, [.objectID(id)], of: syntax, isLimited: isLimited)
        case .objects(let className, let position):
            let classIndex = try checker.classIndex(className, at: position)
            let predicate = try checker.on(classIndex).predicate(syntax.predicate)
            try checker.checkLimits(predicate, of: syntax.predicate)
            let clauses = try checker.on(classIndex).clauses(syntax.clauses)
            try self.init(
                QueryForm(
                    className: schema[classIndex].name, classIndex: classIndex, predicate: predicate,
                    clauses: clauses),
                predicate.constants, of: syntax, isLimited: isLimited)
        }
    }

    private init(
        _ form: QueryForm, _ constants: [Value], of syntax: QuerySyntax, isLimited: Bool
    ) throws(QueryError) {
        let text = form.text(with: constants)
        guard text.utf8.count <= QueryLimits.textLengthMax || !isLimited else {
            throw QueryError(
                .limitExceeded,
                "the query's canonical text is \(text.utf8.count) bytes long; the limit is "
                    + "\(QueryLimits.textLengthMax)",
                at: syntax.predicate.position ?? syntax.clauses.first?.position)
        }
        self.init(form: form, constants: constants, hash: SHA256.truncatedID(of: Array(text.utf8)))
    }
}

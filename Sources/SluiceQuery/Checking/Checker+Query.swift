package import SluiceModel

extension Query {
    /// Checks a query against a schema and brings it into canonical form.
    ///
    /// - Parameter inverses: the names that the query may use for backlinks.
    package init(
        _ syntax: QuerySyntax, schema: Schema, inverses: InverseNames = InverseNames()
    ) throws(QueryError) {
        let checker = Checker(schema: schema, inverses: inverses)
        switch syntax.target {
        case .object(let id):
            guard case .constant(true) = syntax.predicate, syntax.clauses.isEmpty else {
                throw QueryError(
                    .syntax, "a query of one object by its id takes no condition and no clause",
                    at: syntax.predicate.position ?? syntax.clauses.first?.position)
            }
            try self.init(
                className: "", classIndex: -1, object: id, predicate: .constant(true), clauses: CheckedClauses(),
                text: "OBJECT(\(id))", of: syntax)
        case .objects(let className, let position):
            let classIndex = try checker.classIndex(className, at: position)
            let predicate = try checker.on(classIndex).predicate(syntax.predicate)
            try checker.checkLimits(predicate, of: syntax.predicate)
            let clauses = try checker.on(classIndex).clauses(syntax.clauses)
            var text = schema[classIndex].name
            if case .constant(true) = predicate {} else { text += " WHERE " + CanonicalText.predicate(predicate) }
            try self.init(
                className: schema[classIndex].name, classIndex: classIndex, predicate: predicate, clauses: clauses,
                text: text + clauses.text, of: syntax)
        }
    }

    private init(
        className: String, classIndex: Int, object: ObjectID? = nil, predicate: Predicate, clauses: CheckedClauses,
        text: String, of syntax: QuerySyntax
    ) throws(QueryError) {
        guard text.utf8.count <= QueryLimits.textLengthMax else {
            throw QueryError(
                .limitExceeded,
                "the query's canonical text is \(text.utf8.count) bytes long; the limit is "
                    + "\(QueryLimits.textLengthMax)",
                at: syntax.predicate.position ?? syntax.clauses.first?.position)
        }
        self.className = className
        self.classIndex = classIndex
        self.object = object
        self.predicate = predicate
        sort = clauses.sort
        limit = clauses.limit
        stages = clauses.stages
        positionPaths = clauses.positionPaths
        exclusions = ExclusionTree(clauses.exclusions.map(\.properties))
        canonicalText = text
        hash = SHA256.truncatedID(of: Array(text.utf8))
        var paths: [Path] = []
        predicate.forEachComparison { paths += $0.paths }
        predicateDependencies = QueryDependencies(paths: paths)
        sortDependencies = QueryDependencies(paths: clauses.positionPaths)
        dependencies = QueryDependencies(paths: paths + clauses.positionPaths)
    }
}

/// The checked clauses of a query.
struct CheckedClauses {
    struct Exclusion {
        let properties: [Int]
        let text: String
    }

    var sort: [SortKey] = []
    var limit: Int?
    var stages: [Query.Stage] = []
    var positionPaths: [Query.Path] = []
    /// The clauses in canonical form, each after a blank. Setting ``exclusions`` appends theirs.
    var text = ""
    /// Sorted by text; no path is the beginning of another.
    var exclusions: [Exclusion] = [] {
        didSet {
            if !exclusions.isEmpty { text += " EXCLUDE(\(exclusions.map(\.text).joined(separator: ", ")))" }
        }
    }
}

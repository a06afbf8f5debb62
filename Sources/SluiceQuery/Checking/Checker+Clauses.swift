internal import SluiceModel

extension Checker {
    /// What follows a condition on objects of a class, in canonical form.
    func clauses(_ clauses: [QuerySyntax.Clause], ofClass classIndex: Int) throws(QueryError) -> CheckedClauses {
        var result = CheckedClauses()
        var excluded: [(path: PathSyntax, exclusion: CheckedClauses.Exclusion)] = []
        for clause in clauses {
            switch clause {
            case .sort(let keys, let position):
                guard result.limit == nil else {
                    throw QueryError(
                        .unsupported, "SORT after LIMIT is not supported yet; write SORT before LIMIT", at: position)
                }
                // A later sort is the stronger one, as if the earlier had put the objects in order before.
                result.sort.insert(contentsOf: try sortKeys(keys, ofClass: classIndex), at: 0)
            case .limit(let limit, let position):
                guard limit >= 0 else {
                    throw QueryError(.typeMismatch, "LIMIT takes a whole number from 0; found \(limit)", at: position)
                }
                result.limit = min(limit, result.limit ?? limit)
            case .distinct(_, let position):
                throw QueryError(.unsupported, "DISTINCT is not supported yet", at: position)
            case .exclude(let paths, _):
                for path in paths { excluded.append((path, try exclusion(path, from: classIndex))) }
            }
        }
        result.sort = significant(result.sort, ofClass: classIndex)
        guard result.sort.count <= QueryLimits.sortKeyCountMax else {
            throw QueryError(
                .limitExceeded,
                "the query sorts by \(result.sort.count) keys; the limit is \(QueryLimits.sortKeyCountMax)",
                at: nil)
        }
        guard excluded.count <= QueryLimits.exclusionCountMax else {
            throw QueryError(
                .limitExceeded,
                "the query excludes \(excluded.count) paths; the limit is \(QueryLimits.exclusionCountMax)",
                at: nil)
        }
        for (path, exclusion) in excluded { try check(exclusion, path, sort: result.sort) }
        result.exclusions = minimal(excluded.map(\.exclusion))
        return result
    }

    private func sortKeys(
        _ keys: [QuerySyntax.SortSyntax], ofClass classIndex: Int
    ) throws(QueryError) -> [SortKey] {
        var result: [SortKey] = []
        for key in keys {
            guard key.path.quantifier == nil else {
                throw QueryError(.syntax, "a sort key takes no quantifier", at: key.path.position)
            }
            let path = try path(key.path, from: classIndex)
            guard !path.isToMany else {
                throw QueryError(
                    .typeMismatch, "SORT needs one value of each object, and '\(path.text)' has many",
                    at: key.path.position)
            }
            if case .link(let target) = path.type, case .link = path.leaf {
                throw QueryError(
                    .typeMismatch,
                    "SORT cannot order by the link '\(path.text)'; order by a property of \(schema[target].name)",
                    at: key.path.position)
            }
            result.append(SortKey(path: path, isAscending: key.isAscending))
        }
        return result
    }

    /// The keys that can matter: each path once, and none after the primary key, which leaves no ties.
    private func significant(_ keys: [SortKey], ofClass classIndex: Int) -> [SortKey] {
        var result: [SortKey] = []
        for key in keys where !result.contains(where: { $0.path == key.path }) {
            result.append(key)
            if key.path.steps.isEmpty, case .value(let property) = key.path.leaf,
                property == schema[classIndex].primaryKeyIndex
            {
                break
            }
        }
        return result
    }

    private func exclusion(
        _ syntax: PathSyntax, from rootClass: Int
    ) throws(QueryError) -> CheckedClauses.Exclusion {
        guard syntax.quantifier == nil, !syntax.components.isEmpty,
            syntax.components.count <= QueryLimits.pathLengthMax
        else {
            throw QueryError(
                .syntax, "EXCLUDE takes paths of property names, such as owners.friends", at: syntax.position)
        }
        var classIndex = rootClass
        var properties: [Int] = []
        var names: [String] = []
        for (offset, component) in syntax.components.enumerated() {
            guard case .property(let name) = component.kind else {
                throw QueryError(
                    .syntax, "EXCLUDE takes paths of property names, such as owners.friends", at: component.position)
            }
            let property = try property(name, ofClass: classIndex, at: component.position)
            let declared = schema[classIndex].properties[property]
            properties.append(property)
            names.append(CanonicalText.name(name))
            if property == schema[classIndex].primaryKeyIndex {
                throw QueryError(
                    .invalidExclusion,
                    "EXCLUDE cannot hide \(schema[classIndex].name).\(name): it is the primary key, which "
                        + "names objects",
                    at: component.position)
            }
            guard offset < syntax.components.count - 1 else { break }
            guard let target = declared.type.targetClass, let next = schema.index(of: target) else {
                throw QueryError(
                    .typeMismatch,
                    "\(schema[classIndex].name).\(name) is \(declared.type); only a path through links goes on",
                    at: syntax.components[offset + 1].position)
            }
            classIndex = next
        }
        return CheckedClauses.Exclusion(properties: properties, text: names.joined(separator: "."))
    }

    /// Refuses to hide what the sort reads.
    private func check(
        _ exclusion: CheckedClauses.Exclusion, _ syntax: PathSyntax, sort: [SortKey]
    ) throws(QueryError) {
        for key in sort {
            let read = key.path.steps.map(\.property) + [key.path.leafProperty]
            if read.starts(with: exclusion.properties) {
                throw QueryError(
                    .invalidExclusion, "EXCLUDE cannot hide '\(exclusion.text)': the query sorts by '\(key.path.text)'",
                    at: syntax.position)
            }
        }
    }

    private func minimal(_ exclusions: [CheckedClauses.Exclusion]) -> [CheckedClauses.Exclusion] {
        var shortestFirst: [CheckedClauses.Exclusion] = []
        for exclusion in exclusions.sorted(by: { $0.properties.count < $1.properties.count })
        where !shortestFirst.contains(where: { exclusion.properties.starts(with: $0.properties) }) {
            shortestFirst.append(exclusion)
        }
        return shortestFirst.sorted { UTF8Order.less($0.text, $1.text) }
    }
}

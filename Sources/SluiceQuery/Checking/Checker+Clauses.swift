internal import SluiceModel

extension Checker {
    /// Checks the clauses after the condition and brings them into canonical form.
    func clauses(_ clauses: [QuerySyntax.Clause]) throws(QueryError) -> CheckedClauses {
        let computes = clauses.contains { clause in
            switch clause {
            case .aggregate, .group: true
            case .sort, .limit, .distinct, .exclude, .total, .place: false
            }
        }
        if computes { return try figures(clauses) }
        var chain = ClauseChain(uniqueKey: schema[scopes[0].classIndex].primaryKeyIndex)
        var excluded: [(path: PathSyntax, exclusion: CheckedClauses.Exclusion)] = []
        var totals: [Int?] = []
        for clause in clauses {
            switch clause {
            case .sort(let keys, let position):
                guard chain.section.isWhole else {
                    throw QueryError(
                        .unsupported, "SORT stands before AFTER and BEFORE, which name a place in its order",
                        at: position)
                }
                chain.sort(by: try sortKeys(keys), at: position)
            case .limit(let limit, let position):
                guard limit >= 0 else {
                    throw QueryError(.typeMismatch, "LIMIT takes a whole number from 0; found \(limit)", at: position)
                }
                chain.limit(to: limit, at: position)
            case .place(let side, let values, let position): try add(side, values, at: position, to: &chain)
            case .distinct(let paths, let position): chain.makeDistinct(by: try distinctPaths(paths), at: position)
            case .exclude(let paths, _):
                for path in paths { excluded.append((path, try exclusion(path, from: scopes[0].classIndex))) }
            case .total(let position): totals.append(position)
            case .aggregate, .group: break
            }
        }
        try chain.checkLimits()
        guard excluded.count <= QueryLimits.exclusionCountMax else {
            throw QueryError(
                .limitExceeded,
                "the query excludes \(excluded.count) paths; the limit is \(QueryLimits.exclusionCountMax)",
                at: excluded[QueryLimits.exclusionCountMax].path.position)
        }
        var result = chain.checked()
        guard result.stages.isEmpty || chain.section.isWhole else {
            throw QueryError(
                .unsupported,
                "AFTER and BEFORE name a place among all matches, and go with no DISTINCT and no SORT after "
                    + "LIMIT",
                at: clauses.lazy.compactMap { if case .place(_, _, let at) = $0 { at } else { nil } }.first)
        }
        for (path, exclusion) in excluded { try check(exclusion, path, chain, positions: result.positionPaths) }
        result.exclusions = minimal(excluded.map(\.exclusion))
        if let position = totals.first {
            guard result.stages.isEmpty else {
                throw QueryError(
                    .unsupported,
                    "TOTAL counts what the condition finds; after DISTINCT, and after SORT behind LIMIT, that is not what "
                        + "the limit chooses from", at: position)
            }
            guard chain.section.isWhole || result.limit != nil else {
                throw QueryError(
                    .unsupported,
                    "TOTAL beside AFTER or BEFORE needs a LIMIT, since it counts what the condition finds on both sides",
                    at: position)
            }
            result.hasTotal = true
        }
        return result
    }

    private func distinctPaths(_ paths: [PathSyntax]) throws(QueryError) -> [Query.Path] {
        var result: [Query.Path] = []
        for path in paths {
            let path = try single(path, in: "DISTINCT")
            if !result.contains(path) { result.append(path) }
        }
        return result
    }

    /// Checks a path of SORT, DISTINCT, GROUP or AGGREGATE: it must have one value for each result, which every client can compute.
    func single(_ syntax: PathSyntax, in clause: String) throws(QueryError) -> Query.Path {
        guard syntax.quantifier == nil else {
            throw QueryError(.syntax, "a path in \(clause) takes no quantifier", at: syntax.position)
        }
        let path = try path(syntax)
        guard !path.isToMany else {
            throw QueryError(
                .typeMismatch, "\(clause) needs one value of each object, and '\(path.text)' has many",
                at: syntax.position)
        }
        guard !path.readsBacklinks else {
            throw QueryError(
                .unsupported,
                "\(clause) takes no '@links': a client has not all objects that link to a result, and could not tell",
                at: syntax.position)
        }
        return path
    }

    private func sortKeys(_ keys: [QuerySyntax.SortSyntax]) throws(QueryError) -> [SortTerm] {
        var result: [SortTerm] = []
        for key in keys {
            if case .operation(let name)? = key.path.components.first?.kind,
                name == "count" || AggregateOperation(rawValue: name) != nil
            {
                throw QueryError(
                    .unsupported, "SORT orders objects by their properties; '@\(name)' orders groups, beside AGGREGATE",
                    at: key.path.position)
            }
            let path = try single(key.path, in: "SORT")
            if case .link(let target) = path.type {
                throw QueryError(
                    .typeMismatch,
                    "SORT cannot order by the link '\(path.text)'; order by a property of \(schema[target].name)",
                    at: key.path.position)
            }
            if let earlier = result.first(where: { $0.path == path }) {
                // The same key again changes nothing, as when keys are put together at run time.
                guard earlier.isAscending != key.isAscending else { continue }
                throw QueryError(
                    .repeatedSortKey,
                    "'\(path.text)' is sorted by twice, ascending and descending; the second key would decide nothing, "
                        + "remove it", at: key.path.position)
            }
            result.append(SortTerm(path: path, isAscending: key.isAscending))
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
            names.append(CanonicalText.name(declared.name))
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
                    "\(schema[classIndex].name).\(name) is \(declared.type.inWords); only a path through links goes on",
                    at: syntax.components[offset + 1].position)
            }
            classIndex = next
        }
        return CheckedClauses.Exclusion(properties: properties, text: names.joined(separator: "."))
    }

    /// Refuses an exclusion of a property that SORT or DISTINCT reads.
    private func check(
        _ exclusion: CheckedClauses.Exclusion, _ syntax: PathSyntax, _ chain: ClauseChain, positions: [Query.Path]
    ) throws(QueryError) {
        for path in positions where path.reads(exclusion.properties) {
            let reason = chain.sorts(by: path) ? "the query sorts by" : "DISTINCT tells results apart by"
            throw QueryError(
                .invalidExclusion, "EXCLUDE cannot hide '\(exclusion.text)': \(reason) '\(path.text)'",
                at: syntax.position)
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

extension Query.Path {
    /// Whether the path goes through these properties, from the queried class outwards.
    fileprivate func reads(_ properties: [Int]) -> Bool {
        let own = steps.map(\.property) + (leafProperty.map { [$0] } ?? [])
        if own.starts(with: properties) { return true }
        guard case .aggregate(_, let elements) = leaf else { return false }
        let all = own + elements.steps.map(\.property) + (elements.leafProperty.map { [$0] } ?? [])
        return all.starts(with: properties)
    }
}

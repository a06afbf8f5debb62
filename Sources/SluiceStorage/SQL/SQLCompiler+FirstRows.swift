internal import SluiceModel
internal import SluiceQuery

/// The first results in an order, where only their own rows tell ties apart.
///
/// Ties are in the order of their ids, and the id of an object with a key is a hash of it. SQLite computes every term of
/// ORDER BY for every row that it sorts, so without an index the first 50 of 100,000 rows took 100,000 hashes. A bound
/// leaves out what cannot be among the first: the value of the last of them, which sorting by that value alone finds.
/// Hashes are then made for the rows up to the bound, at the price of reading the others' values twice.
extension SQLCompiler {
    /// The most results for which it is worth to look for a bound first.
    private static let boundedCountMax = 8_192

    /// What holds for all of the first results, and not for most others.
    ///
    /// - Parameters:
    ///   - count: how many are wanted, of all that match.
    ///   - matches: what is selected from, and the condition: everything between SELECT's columns and ORDER BY.
    /// - Returns: nil where it would not make a statement faster: an index may have the order, ids cost nothing, or the
    ///   condition costs more than they do.
    func firstRows(
        _ count: Int, of query: Query, _ matches: SQLStatement, _ builder: inout SQLConditionBuilder
    ) -> SQLStatement? {
        guard 1...Self.boundedCountMax ~= count, let first = query.sort.first,
            schema[query.classIndex].primaryKeyIndex != nil,
            !query.sort.contains(where: { isPrimaryKey($0.path, of: query) }), isUnindexedColumn(first.path),
            query.predicate.readsOwnNumbers, builder.context.condition(ofClass: query.classIndex) == nil
        else { return nil }
        let value = builder.value(of: first.path)
        let direction: SQLStatement = first.isAscending ? "" : " DESC"
        let last: SQLStatement =
            "(SELECT \(value)\(matches) ORDER BY \(value)\(direction) LIMIT 1 OFFSET \(.integer(Int64(count - 1))))"
        // SQLite sorts null first, then numbers, texts and blobs. Where there is no last row, or its value is null, the
        // bound is beyond every value. Null is taken for the lowest number.
        let lowest: SQLStatement = "-9e999"
        return first.isAscending
            ? "ifnull(\(value), \(lowest)) <= ifnull(\(last), x'')"
            : "ifnull(\(value), \(lowest)) >= ifnull(\(last), \(lowest))"
    }

    /// Whether a path leads to a property of the queried object without a declared index, whose values sort below blobs.
    private func isUnindexedColumn(_ path: Query.Path) -> Bool {
        guard let index = path.plainProperty, path.scope == 0,
            case .scalar(let type) = path.type, !schema[path.leafClass].properties[index].isIndexed
        else { return false }
        return switch type {
        case .bool, .int, .float, .double, .string, .date: true
        case .data, .uuid, .objectID, .decimal: false
        }
    }
}

extension Query.Predicate {
    /// Whether it compares single values of the queried object with constants, and those are cheaper than a hash.
    fileprivate var readsOwnNumbers: Bool {
        switch self {
        case .constant: return true
        case .and(let operands), .or(let operands):
            return operands.count <= 8 && operands.allSatisfy(\.readsOwnNumbers)
        case .comparison(let comparison), .not(let comparison):
            guard case .path(let path) = comparison.left, case .constant = comparison.right,
                path.plainProperty != nil, !comparison.ignoresCase
            else { return false }
            return switch comparison.comparison {
            case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual: true
            default: false
            }
        }
    }
}
